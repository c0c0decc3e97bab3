"""What holds for every seen set, whatever comes in whatever order."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup_crawler.live.at_once import at_once
from dedup_crawler.live.seen.memory import MemorySeenSet
from dedup_crawler.live.seen.opening import open_seen
from dedup_crawler.live.seen.protocol import Claim, Holder, Standing, form_digest, owner_tag

NEW, OWN, AWAITED, SEEN = Standing
A, B = form_digest("/a"), form_digest("/b")
_numbers = itertools.count()


class Found(NamedTuple):
    """Who has a form."""

    standing: Standing
    rules: int


class Sets:
    """Makes seen sets of one kind on one event loop; ``again`` is the next run on what an earlier one left."""

    def __init__(self, place):
        self._place = place
        self._open = []
        self.loop = asyncio.new_event_loop()
        self.setting = None

    def fresh(self):
        """An empty set."""
        self.setting = self._place(next(_numbers))
        return self.again()

    def again(self, **options):
        """The next run."""
        seen, _ = self.open(**options)
        return seen

    def open(self, **options):
        """The next run, and what it is given."""
        seen = open_seen(self.setting, None)
        self._open.append(seen)
        return seen, self.run(seen.open(**options))

    def run(self, coroutine):
        """What *coroutine* gives."""
        return self.loop.run_until_complete(coroutine)

    def stop(self, seen, *, is_clean=False):
        """End a run."""
        self._open.remove(seen)
        self.run(seen.close(is_clean=is_clean))

    def close(self):
        """End all runs."""
        for seen in list(self._open):
            self.stop(seen)

    def claim(self, seen, digest, url, rules=0, invalid=()):
        """What one claim finds, but for the substitute."""
        return Found(*self.run(seen.claim([Claim(digest, owner_tag(url), rules, url)], invalid))[0][:2])


@pytest.fixture(params=["memory", "sqlite", "redis"])
def sets(request, tmp_path):
    """The three kinds of seen sets."""
    if request.param == "memory":
        made = Sets(lambda number: "memory")
    elif request.param == "sqlite":
        made = Sets(lambda number: str(tmp_path / f"{number}.seen"))
    else:
        server = request.getfixturevalue("redis_server")
        made = Sets(lambda number: server.url(f"laws{number}"))
    yield made
    made.close()
    made.loop.close()


def needs_durable(seen):
    if not seen.is_durable:
        pytest.skip("dies with its process")


def test_the_first_url_owns_the_form(sets):
    """Its own repeats are told from other URLs of the form; the page comes, and the others meet a seen form."""
    seen = sets.fresh()

    assert sets.claim(seen, A, "/a?1", rules=7) == (NEW, 7)
    assert sets.claim(seen, A, "/a?1") == (OWN, 7)
    assert sets.claim(seen, A, "/a?2", rules=9) == (AWAITED, 7)
    seen.answered(A)
    assert sets.claim(seen, A, "/a?2") == (SEEN, 7)
    seen.processed([A])
    assert sets.claim(seen, A, "/a?2") == (SEEN, 7)
    assert sets.claim(seen, A, "/a?1") == (OWN, 7)
    assert len(seen) == 1


def test_claims_of_one_call_meet_each_other(sets):
    """The second link of a page to a form finds that the first one owns it."""
    seen = sets.fresh()
    claims = [Claim(A, 1), Claim(A, 2), Claim(B, 3), Claim(A, 1)]

    assert [holder.standing for holder in sets.run(seen.claim(claims))] == [NEW, AWAITED, NEW, OWN]
    assert sets.run(seen.claim([])) == []


def test_a_local_set_answers_at_once(sets):
    """A local set needs no event loop to be asked."""
    seen = sets.fresh()

    if seen.is_local:
        assert at_once(seen.claim([Claim(A, 1, 5)])) == [Holder(NEW, 5)]


def test_whoever_says_that_a_substitute_waits_keeps_one(sets):
    """A set may not know it, but it never says so of a form that nobody waits for: such a link would be lost."""
    seen = sets.fresh()
    ask = [Claim(A, owner_tag("/a?3"), 0, "/a?3")]

    sets.claim(seen, A, "/a?1")
    assert not sets.run(seen.claim(ask))[0].has_substitute
    assert sets.run(seen.wait(A, "/a?2", owner_tag("/a?2")))
    assert sets.run(seen.claim(ask))[0].has_substitute is seen.is_local
    assert sets.run(seen.release(A)) == "/a?2"
    assert not sets.run(seen.claim(ask))[0].has_substitute


def test_one_substitute_waits_and_takes_over_when_the_owner_fails(sets):
    """Of two URLs that are dropped while the answer is awaited the first is given back; then the form is free."""
    seen = sets.fresh()
    sets.claim(seen, A, "/a?1")

    assert sets.run(seen.wait(A, "/a?2"))
    assert sets.run(seen.wait(A, "/a?3"))
    assert sets.run(seen.release(A)) == "/a?2"
    assert sets.run(seen.release(A)) is None
    assert sets.claim(seen, A, "/a?2").standing is NEW
    assert sets.run(seen.release(A)) is None


def test_nobody_waits_for_a_form_that_is_seen_or_free(sets):
    """A URL whose form was answered meanwhile may be dropped; one whose form was freed meanwhile may not."""
    seen = sets.fresh()
    assert not sets.run(seen.wait(A, "/a?2"))
    sets.claim(seen, A, "/a?1")
    seen.answered(A)
    assert sets.run(seen.wait(A, "/a?2"))
    assert sets.run(seen.release(A)) is None
    assert not sets.run(seen.wait(A, "/a?2"))


def test_a_seen_form_can_be_forgotten(sets):
    """A form whose page turned out to be a captcha is free again, for its own URL too."""
    seen = sets.fresh()
    sets.claim(seen, A, "/a?1")
    seen.answered(A)
    seen.processed([A])
    sets.claim(seen, B, "/b")  # sends what Redis has not heard yet

    assert sets.run(seen.release(A)) is None
    assert sets.claim(seen, A, "/a?1").standing is NEW


def test_an_answer_that_comes_late_says_nothing_of_the_next_owner(sets):
    """Whoever claims a form that was freed is awaited, so that another URL waits in case it fails as well."""
    seen = sets.fresh()
    sets.claim(seen, A, "/a?1")
    sets.run(seen.release(A))
    seen.answered(A)
    sets.claim(seen, B, "/b")  # sends what Redis has not heard yet

    assert sets.claim(seen, A, "/a?2").standing is NEW
    assert sets.claim(seen, A, "/a?3").standing is AWAITED
    assert sets.run(seen.wait(A, "/a?3"))
    assert sets.run(seen.release(A)) == "/a?3"


def test_a_form_of_a_rule_that_was_switched_off_is_free(sets):
    """Its next URL takes it over, awaited or seen, and a waiting substitute goes on waiting."""
    seen = sets.fresh()
    sets.claim(seen, A, "/a?1", rules=7)
    sets.run(seen.wait(A, "/a?3"))
    assert sets.claim(seen, A, "/a?2", invalid=[8, 65535]) == (AWAITED, 7)
    assert sets.claim(seen, A, "/a?2", rules=9, invalid={7, 8}) == (NEW, 9)
    assert sets.claim(seen, A, "/a?2", invalid=[7]) == (OWN, 9)
    assert sets.run(seen.release(A)) == "/a?3"

    sets.claim(seen, B, "/b?1", rules=65535)
    seen.answered(B)
    seen.processed([B])
    sets.claim(seen, A, "/a?3")
    assert sets.claim(seen, B, "/b?2", rules=1, invalid=[65535]) == (NEW, 1)
    assert sets.claim(seen, B, "/b?1") == (AWAITED, 1)


def test_owners_that_were_swallowed_give_up_their_substitutes(sets):
    """When nothing is in flight, every waiting substitute is given and its form is free; answered forms stay."""
    seen = sets.fresh()
    forms = [form_digest(letter) for letter in "abc"]
    for form, letter in zip(forms, "abc", strict=True):
        sets.claim(seen, form, f"{letter}1")
        sets.run(seen.wait(form, f"{letter}2"))
    seen.answered(forms[1])

    assert sets.run(seen.abandoned(is_idle=False)) == []
    assert sorted(sets.run(seen.abandoned())) == ["a2", "c2"]
    assert sets.claim(seen, forms[0], "a2").standing is NEW
    assert sets.claim(seen, forms[1], "b2").standing is SEEN
    assert sets.claim(seen, forms[2], "c2").standing is NEW
    assert sets.run(seen.abandoned()) == []
    assert sets.claim(seen, forms[0], "a3").standing is NEW


def test_asking_for_the_abandoned_ends(sets):
    """Substitutes that are swallowed as well are not given for ever."""
    seen = sets.fresh()
    sets.claim(seen, A, "/a?1")
    sets.run(seen.wait(A, "/a?2"))

    given = []
    while texts := sets.run(seen.abandoned()):
        given += texts
    assert set(given) == {"/a?2"}
    assert len(given) <= 2
    assert sets.run(seen.abandoned()) == []


def test_a_restored_form_is_seen(sets):
    """The page is there; a local crawl may fetch it anew from the same URL; an owner of this crawl keeps its form."""
    seen = sets.fresh()
    sets.claim(seen, B, "/b?1")
    seen.restore(A, owner_tag("/a?1"), 3)
    seen.restore(B, owner_tag("/b?2"))

    assert sets.claim(seen, A, "/a?1") == (OWN if seen.is_local else SEEN, 3)
    assert sets.claim(seen, A, "/a?2") == (SEEN, 3)
    assert sets.claim(seen, B, "/b?1").standing is OWN
    assert sets.run(seen.wait(A, "/a?2"))
    assert len(seen) == 2


def test_facts_are_kept_and_forms_can_be_forgotten(sets):
    """Clearing forgets seen, awaited and waiting, not the facts; a durable set gives the request that was awaited."""
    seen = sets.fresh()
    assert sets.run(seen.noted("model")) is None
    sets.run(seen.note("model", "ünïcode 'quoted'; DROP TABLE seen"))
    sets.run(seen.note("version", "1"))
    sets.claim(seen, A, "/a?1")
    sets.run(seen.wait(A, "/a?2"))
    sets.claim(seen, B, "/b?1")
    seen.answered(B)
    seen.processed([B])

    left = sets.run(seen.clear())

    assert len(left) == seen.is_durable
    assert sets.run(seen.noted("model")) == "ünïcode 'quoted'; DROP TABLE seen"
    assert len(seen) == 0
    assert sets.claim(seen, A, "/a?3").standing is NEW
    assert sets.claim(seen, B, "/b?2").standing is NEW
    assert sets.run(seen.release(A)) is None
    assert len(seen) == 1


def test_digests_that_look_alike_are_told_apart(sets):
    """Forms made so that the first or last bytes of their digests are equal stay different forms."""
    seen = sets.fresh()
    alike = [bytes(15) + bytes([n]) for n in range(200)] + [bytes([n]) + bytes(15) for n in range(1, 200)]

    first = sets.run(seen.claim([Claim(digest, 1, 0, "x") for digest in alike]))
    assert {holder.standing for holder in first} == {NEW}
    for digest in alike[::2]:
        seen.answered(digest)
    seen.processed(alike[::2])
    for digest in alike[1::2]:
        sets.run(seen.release(digest))
    again = sets.run(seen.claim([Claim(digest, 2, 0, "x") for digest in alike]))
    assert [holder.standing for holder in again] == [SEEN if n % 2 == 0 else NEW for n in range(len(alike))]


def test_a_clock_that_goes_backwards_changes_nothing(sets, monkeypatch):
    """No decision looks at the time of day."""
    hours = itertools.count(2_000_000_000, -3600)
    monkeypatch.setattr(time, "time", lambda: float(next(hours)))
    test_the_first_url_owns_the_form(sets)
    test_owners_that_were_swallowed_give_up_their_substitutes(sets)


def test_the_next_run_knows_what_was_seen(sets):
    """A processed page is seen in the next run, for its own URL too, with its rules; facts are there."""
    seen = sets.fresh()
    needs_durable(seen)
    sets.claim(seen, A, "/a?1", rules=300)
    seen.answered(A)
    seen.processed([A])
    seen.restore(B, 1)
    sets.run(seen.note("model", "abc"))
    sets.stop(seen, is_clean=True)

    seen, texts = sets.open()

    assert texts == []
    assert sets.run(seen.noted("model")) == "abc"
    assert sets.claim(seen, A, "/a?1") == (SEEN, 300)
    assert sets.claim(seen, B, "/b").standing is SEEN
    assert len(seen) == 2


def test_what_was_not_finished_is_given_until_it_is_claimed(sets):
    """
    After a stop in mid-crawl the requests without a processed page are given, run after run, until they are claimed;
    their forms are free, and substitutes go on waiting.
    """
    seen = sets.fresh()
    needs_durable(seen)
    sets.claim(seen, A, "/a?1")
    sets.run(seen.wait(A, "/a?2"))
    sets.claim(seen, B, "/b?1")
    seen.answered(B)
    for _ in range(2):
        sets.stop(seen)
        seen, texts = sets.open()
        assert sorted(texts) == ["/a?1", "/b?1"]

    assert sets.claim(seen, A, "/a?1").standing is NEW
    assert sets.claim(seen, B, "/b?2").standing is NEW
    assert sets.run(seen.release(A)) == "/a?2"
    assert sets.run(seen.release(B)) == "/b?1"  # came from the earlier run, and another URL was faster


def test_a_substitute_that_takes_the_form_over_leaves_the_owner_waiting(sets):
    """After a stop the link of the substitute is met first. It fails, and the earlier owner's request comes back."""
    seen = sets.fresh()
    needs_durable(seen)
    sets.claim(seen, A, "/a?1")
    sets.run(seen.wait(A, "/a?2", owner_tag("/a?2")))
    sets.stop(seen)
    seen = sets.again()

    assert sets.claim(seen, A, "/a?2").standing is NEW
    assert sets.run(seen.release(A)) == "/a?1"
    assert sets.claim(seen, A, "/a?1").standing is NEW
    assert sets.run(seen.release(A)) is None


def test_a_substitute_whose_owner_cannot_be_written_is_given_itself(sets):
    """Where the owner's request has no text, a stop gives the substitute in its place."""
    seen = sets.fresh()
    needs_durable(seen)
    sets.run(seen.claim([Claim(A, 1, 0, None), Claim(B, 1, 0, None)]))
    sets.run(seen.wait(A, "/a?2"))
    sets.stop(seen)

    seen, texts = sets.open()

    assert texts == ["/a?2"]
    assert sets.claim(seen, B, "/b").standing is NEW


events = st.lists(
    st.tuples(
        st.sampled_from(["ask", "ask", "ask", "good", "done", "bad", "idle", "stop"]),
        st.integers(0, 3),
        st.integers(0, 3),
    ),
    max_size=40,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=events)
def test_no_form_is_lost_and_none_is_new_twice(sets, history):
    """
    Whatever the order of requests, answers, failures and stops: a form that is on its way is new to nobody else; when
    its owner fails the waiting substitute comes back; and after a stop every form that was claimed and not processed
    comes back, until it is claimed again.
    """
    seen = sets.fresh()
    owner, waiting, answered, done = {}, {}, set(), set()
    held = {}  # what waits as far as a stop is concerned: until the page is processed

    def ask(form, url):
        standing = sets.claim(seen, form_digest(form), url).standing
        if form in owner:
            # this run's own, or of an earlier run and seen
            expected = {OWN if owner[form] == url else SEEN if form in answered | done else AWAITED}
            assert standing in expected | ({SEEN} if form in done else set())
            if standing is AWAITED:
                assert sets.run(seen.wait(form_digest(form), url, owner_tag(url)))
                waiting.setdefault(form, url)
                held.setdefault(form, url)
        else:
            assert standing is NEW
            owner[form] = url

    for event, form_number, url_number in history:
        form, url = f"/{form_number}", f"/{form_number}?{url_number}"
        digest = form_digest(form)
        if event == "ask":
            ask(form, url)
        elif event == "good" and form in owner:
            seen.answered(digest)
            answered.add(form)
            waiting.pop(form, None)
        elif event == "done" and form in answered:
            seen.processed([digest])
            done.add(form)
            held.pop(form, None)
        elif event == "bad" and form in owner and form not in answered | done:
            substitute = waiting.pop(form, None)
            held.pop(form, None)
            assert sets.run(seen.release(digest)) == substitute
            del owner[form]
            if substitute is not None:
                ask(form, substitute)
        elif event == "idle":
            texts = sets.run(seen.abandoned())
            unanswered = set(owner) - answered - done
            assert sorted(texts) == sorted(waiting[form] for form in unanswered if form in waiting)
            for form in unanswered:
                del owner[form]
                waiting.pop(form, None)
                held.pop(form, None)
            for text in texts:
                ask(text.partition("?")[0], text)
        elif event == "stop" and not isinstance(seen, MemorySeenSet):
            sets.stop(seen)
            seen, to_send = sets.open()
            assert {text.partition("?")[0] for text in to_send} == set(owner) - done
            for form in set(owner) - done:
                del owner[form]
            # what waited waits on, unless it takes the place of an owner whose request came back as a substitute
            answered = set()
            waiting = {form: url for form, url in held.items() if form not in done and url not in to_send}
            held = dict(waiting)
            for text in to_send:
                ask(text.partition("?")[0], text)
    assert len(seen) == len(owner)
    sets.stop(seen)
