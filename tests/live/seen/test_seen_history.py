"""Laws of every seen set, for any history of calls."""

from __future__ import annotations

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dedup_crawler.live.seen.protocol import form_digest, owner_tag
from seen_sets import AWAITED, NEW, OWN, OWN_SEEN, SEEN


class Crawl:
    """A crawl against a seen set, with its own model of the forms: all answers of the set must agree."""

    def __init__(self, sets):
        self.sets = sets
        self.seen = sets.fresh()
        self.owner = {}
        self.answered, self.done = set(), set()
        self.owed = {}  # form -> URLs that were dropped, and not returned since
        self.kept = {}  # form -> URLs that outlive the process: also returned ones that are not claimed yet
        self.drops = {}
        self.left = {}  # form -> returned URL, which may be in flight
        self.displaced = set()  # such URLs whose forms another URL has claimed: also kept as drops

    def ask(self, form, url):
        """A link, or a returned request."""
        standing = self.sets.claim(self.seen, form_digest(form), url).standing
        if form not in self.owner:
            assert standing is NEW
            self.owner[form] = url
            self.displaced |= {self.left.pop(form, url)} - {url}
            self._forget(form, url)
            return
        # this run's own, or of an earlier run and seen
        is_there = form in self.answered | self.done
        own, other = (OWN_SEEN, SEEN) if is_there else (OWN, AWAITED)
        expected = {own if self.owner[form] == url else other}
        assert standing in expected | ({SEEN} if form in self.done else set())
        if standing is AWAITED:
            assert self.sets.run(self.seen.wait(form_digest(form), url, owner_tag(url)))
            self.owed.setdefault(form, set()).add(url)
            self.kept.setdefault(form, set()).add(url)

    def answer(self, form):
        """A good answer."""
        if form in self.owner:
            self.seen.answered(form_digest(form))
            self.answered.add(form)
            self.owed.pop(form, None)

    def process(self, form):
        """The spider has processed the page."""
        if form in self.answered:
            self.seen.processed([form_digest(form)])
            self.done.add(form)
            self.kept.pop(form, None)

    def fail(self, form, is_swallowed):
        """A bad answer: the oldest substitute is returned, perhaps after a returned request of an earlier run."""
        if form not in self.owner or form in self.answered | self.done:
            return
        substitute = self.sets.run(self.seen.release(form_digest(form)))
        owed = self.owed.get(form, set())
        assert substitute in (owed | self.kept.get(form, set()) or {None}) or (substitute is None and not owed)
        del self.owner[form]
        if substitute is not None:
            self._give(substitute, is_swallowed)

    def run_dry(self, is_swallowed):
        """Nothing is in flight: one URL of each form with substitutes is returned."""
        texts = self.sets.run(self.seen.abandoned())
        forms = [form_of(text) for text in texts]
        assert len(set(forms)) == len(forms)
        assert set(forms) >= {form for form, urls in self.owed.items() if urls}
        for form in set(self.owner) - self.answered - self.done:
            del self.owner[form]
        for text in texts:
            self._give(text, is_swallowed)
        return texts

    def clear(self):
        """The model is replaced: substitutes are returned, and all forms are forgotten."""
        awaited, waiting = self.sets.run(self.seen.clear())
        owed = {url for urls in self.owed.values() for url in urls}
        assert owed <= set(waiting) <= owed | {url for urls in self.kept.values() for url in urls}
        assert len(set(waiting)) == len(waiting)
        if self.seen.is_durable:
            assert {self.owner[form] for form in set(self.owner) - self.done} <= set(awaited)
        for known in (self.owner, self.answered, self.done, self.owed, self.kept):
            known.clear()

    def stop(self, is_swallowed):
        """A kill, and the next run: unfinished requests are returned, and drops are kept."""
        if not self.seen.is_durable:
            return
        self.sets.stop(self.seen)
        self.seen, texts = self.sets.open()
        assert sorted(text for text in texts if not text.startswith("/")) == sorted(self.drops)
        texts = [text for text in texts if text.startswith("/")]
        for form in set(self.owner) - self.done:
            self.kept.setdefault(form, set()).add(self.owner.pop(form))
        self.answered.clear()
        self.owed = {form: set(urls) for form, urls in self.kept.items()}
        forms = [form_of(text) for text in texts if text not in self.displaced]
        assert len(set(forms)) == len(forms)
        waiting = {form for form, urls in self.kept.items() if urls}
        assert set(forms) <= waiting <= {form_of(text) for text in texts}
        for text in texts:
            self._give(text, is_swallowed)

    def keep(self, rules, number):
        """A drop by unverified rules."""
        self.seen.keep_dropped(rules, f"dropped {rules} {number}")
        self.drops[f"dropped {rules} {number}"] = rules

    def verify(self, rules):
        """Rules are verified."""
        self.seen.forget_dropped([rules])
        if rules == 0:
            self.displaced.clear()
        self.drops = {text: its for text, its in self.drops.items() if its != rules}

    def _give(self, url, is_swallowed):
        form = form_of(url)
        assert url in self.kept.get(form, ()) or url in self.displaced
        self.left[form] = url
        self.owed.get(form, set()).discard(url)
        if not is_swallowed:
            self.ask(form, url)

    def _forget(self, form, url):
        for urls in (self.owed, self.kept):
            urls.get(form, set()).discard(url)

    def end(self):
        """A crawl that runs dry while every answer fails: all substitutes are returned in the end."""
        for _ in range(100):
            if not self.run_dry(is_swallowed=False):
                break
        assert not any(self.owed.values())
        for form in self.owner:
            assert self.sets.run(self.seen.owner(form_digest(form))) in (self.owner[form], None)
            if self.seen.is_durable:
                assert self.sets.run(self.seen.owner(form_digest(form))) == self.owner[form]
        assert len(self.seen) == len(self.owner)
        self.sets.stop(self.seen)


def form_of(url):
    return url.partition("?")[0]


numbers = st.integers(0, 3)
events = st.lists(
    st.tuples(
        st.sampled_from([*["ask"] * 5, *["good", "done", "bad"] * 2, "idle", "stop", "keep", "verify", "clear"]),
        numbers,
        numbers,
        st.booleans(),
    ),
    max_size=50,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=events)
@example(history=[("ask", 0, 0, False), ("stop", 0, 0, True), ("ask", 0, 1, False), ("stop", 0, 0, False)])
def test_no_form_is_lost_and_none_is_new_twice(sets, history):
    """
    For any order of requests, answers, failures, models and stops: an awaited form is new to no other
    URL; when its owner fails a substitute is returned, and as long as one is left the crawl does not run dry
    without it; after a stop every claimed and unprocessed form comes back, with all its substitutes;
    drops come back until their rules are verified.
    """
    crawl = Crawl(sets)
    for event, number, other, is_swallowed in history:
        form = f"/{number}"
        if event == "ask":
            crawl.ask(form, f"{form}?{other}")
        elif event == "good":
            crawl.answer(form)
        elif event == "done":
            crawl.process(form)
        elif event == "bad":
            crawl.fail(form, is_swallowed)
        elif event == "idle":
            crawl.run_dry(is_swallowed)
        elif event == "stop":
            crawl.stop(is_swallowed)
        elif event == "keep":
            crawl.keep(number, other)
        elif event == "verify":
            crawl.verify(number)
        elif event == "clear":
            crawl.clear()
    crawl.end()
