"""Exploration: some duplicates are fetched as tests, and a rule that merges different pages is switched off."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import xxhash

from dedup_crawler.live.comparing.owner_pages import FetchedPage
from dedup_crawler.live.exploration.comparisons import Comparisons, Duplicate
from dedup_crawler.live.exploration.covered_pages import ShownText, Unreached, Waiting, shown_texts
from dedup_crawler.live.exploration.dropped_requests import Alternatives, Reservoir
from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.live.requests.request_text import url_of_kept
from dedup_crawler.live.walls.alike_answers import AlikeAnswers
from dedup_crawler.live.walls.walls import Walls
from dedup_crawler.urls.normal import host_of, normal_form

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from dedup_crawler.live.collecting.seeding import EarlierPages
    from dedup_crawler.live.models.live_models import LiveModels
    from dedup_crawler.live.requests.request_text import Kept
    from dedup_crawler.live.telling.drop_report import DropReport

_MAX_CREDIT = 2.0
_MAX_RULE_SETS = 10_000
_MAX_TESTED = 20_000
_MAX_URLS = 200_000
_LOOK_AGAIN = 20  # answers between two checks of the waiting pages
_NEEDS_OWNER = 0.5  # such a test costs two pages


class Explorer:
    """Chooses the explorations, compares each with the page it was taken for, and counts the verdicts.

    *epsilon* is the share (0-1) of the duplicates to explore; 0 explores nothing and keeps no pages. In a dry run, all
    would-be drops are fetched and compared.
    """

    def __init__(
        self,
        models: LiveModels,
        report: DropReport,
        earlier: EarlierPages,
        epsilon: float,
        *,
        is_dry_run: bool,
    ) -> None:
        self.evidence = models.evidence
        self.walls = Walls(report)
        self.alternatives: Alternatives[Kept] = Alternatives()
        """Dropped requests, by form."""
        self.is_resumed = False
        """True if an earlier process fetched pages, whose content is unknown here."""
        self.knows_owners = True
        """True if the owner of each seen form is remembered."""
        self._report = report
        self._explores = epsilon > 0 and not is_dry_run
        self._keeps_pages = epsilon > 0 or is_dry_run
        self.comparisons = Comparisons(self._judged, models, earlier)
        self._reservoir: Reservoir[Kept] = Reservoir()
        self._random = random.Random(0)  # noqa: S311 - only chooses the tests
        self.alike = AlikeAnswers()
        """Rows of consecutive answers that are alike."""
        self._credit: dict[tuple[str, ...], float] = {}
        self._shown: ShownText | None = None  # created at the first covered URL
        self._led: set[bytes] = set()  # forms reached only by tests
        self._sent = _UrlSet()  # URLs sent as tests
        self._dropped = _UrlSet()
        self._tested: set[str] = set()  # URLs of pages that were fetched to test a rule
        self.unreached = Unreached(self._has_shown)
        """Explored covered pages whose content no other page has shown yet."""
        self._n_answers = 0
        self._failing: list[str] = []

    def wants(
        self,
        rules: tuple[str, ...],
        url: str,
        form: bytes,
        linked_on: str | None,
        *,
        is_covered: bool,
        is_awaited: bool,
    ) -> bool:
        """Return True if a duplicate linked from *page* is to be fetched as a test.

        Links on pages that are tests themselves are not tested: if each answer has new links, testing would never
        end. Nor are URLs that were dropped before: each URL is one drop, however many links lead to it.

        The owner's page may still be on its way (*is_awaited*), or must be fetched again if it is no longer kept.
        """
        rate = self.evidence.rate(rules)
        if rate <= 0 or (rate < 1 and (linked_on in self._tested or url in self._dropped)):
            return False
        if is_covered and self._shown is None:
            self._shown = ShownText()
            for _, page in self.comparisons.pages():
                self._shown.add(page)
        if len(self._credit) >= _MAX_RULE_SETS:
            self._credit.clear()
        credit = min(_MAX_CREDIT, self._credit.get(rules, 0.0) + rate)
        is_cheap = is_covered or is_awaited or self.comparisons.has_owner(form)
        is_chosen = rate == 1 or self._random.random() < (credit if is_cheap else credit * _NEEDS_OWNER)
        self._credit[rules] = credit - 1 if is_chosen else credit
        if is_chosen:
            self.evidence.begun(rules)
        return is_chosen

    def is_on_trial(self, rules: Iterable[str]) -> bool:
        """Return True if the drops of *rules* must survive a kill."""
        return self._explores and not self.evidence.is_settled(rules)

    def sent(self, request: Request) -> None:
        """Note that a duplicate is fetched as a test: another link to it is no drop."""
        self._sent.add(request.url)

    def not_sent(self, request: Request) -> None:
        """Note that a test is decided again before its answer, because the models have changed: it tests nothing."""
        _, expected, *rules = request.meta.get(marks.EXPLORES) or (b"", marks.OWNER)
        if expected == marks.OWNER:
            return
        self._sent.discard(request.url)
        if self._explores:  # a dry run does not count tests
            self.evidence.given_up(rules)
            self._report.count("request/explored", -1)

    def was_sent(self, request: Request) -> bool:
        """Return True if the URL of a duplicate was fetched as a test."""
        return request.url in self._sent

    def dropped(self, rules: tuple[str, ...], url: str, request: Kept, form: bytes) -> None:
        """Keep a dropped request, each URL once, in case its rule or the owner of its form turns out wrong."""
        if url in self._dropped:
            return
        self._dropped.add(url)
        self.evidence.dropped(rules)
        self._reservoir.add(rules, request)
        self.alternatives.add(form, url, request)

    def judge(self, explores: Sequence[Any], request: Request, response: Response) -> None:
        """Compare an explored page with the page it was taken for."""
        form, expected, *rules = explores
        if expected != marks.OWNER and len(self._tested) < _MAX_TESTED:
            self._tested.add(response.url)
        if self.walls.is_frozen(request.url):
            self.not_answered(explores)
        elif expected == marks.REACHED:
            self._judged(form, rules, True)
        elif expected == marks.REACHED_ALONE:
            self._wait(Waiting(self._n_answers, form, tuple(rules), None))  # a link may still come
        elif expected == marks.COVERED:
            texts = shown_texts(_page(request, response))
            if self._has_shown(texts):
                self._judged(form, rules, True)
            else:
                self._wait(Waiting(self._n_answers, form, tuple(rules), texts))
        elif expected == marks.OWNER:
            self.comparisons.owner_came(form, _page(request, response))
        else:
            duplicate = Duplicate(tuple(rules), _page(request, response))
            self.comparisons.explored(form, duplicate, is_owner_awaited=expected == marks.AWAITED)

    def not_answered(self, explores: Sequence[Any]) -> None:
        """Note that an explored duplicate failed, or got an empty answer."""
        form, expected, *rules = explores
        if expected == marks.OWNER:
            self.comparisons.has_no_owner(form)
        else:
            self._judged(form, rules, None)

    def swallowed(self, request: Request, target_form: bytes, *, is_covered: bool) -> None:
        """Note that the dupefilter knows an explored URL, or its redirect target with *target_form*.

        For a covered URL, the target counts as reached, unless it is covered as well (*is_covered*), or only another
        such test has led to it.
        """
        if (explores := request.meta.pop(marks.EXPLORES, None)) is None:
            return
        form, expected, *rules = explores
        if not marks.is_redirected(request):
            self.evidence.given_up(rules)  # nothing is fetched, so nothing is tested
            return
        if expected in (marks.REACHED, marks.REACHED_ALONE):
            self._judged(form, rules, True)
            return
        if expected == marks.COVERED:
            self._judged(form, rules, None if is_covered or target_form in self._led else True)
            return
        owner = self.comparisons.owner(form)
        is_same = owner is not None and request.url in (owner.url, owner.final_url)
        self._judged(form, rules, True if is_same else None)

    def led_on(self, explores: Sequence[Any], target: str, target_form: bytes, its_rules: Sequence[str]) -> None:
        """Note that an explored URL redirects to *target*, which the spider may or may not request.

        The redirect confirms the rules if the target is the owner, or has its form without any of the tested rules.
        """
        form, expected, *rules = explores
        if expected == marks.OWNER:
            self.not_answered(explores)
            return
        owner = self.comparisons.owner(form)
        is_owner = owner is not None and target in (owner.url, owner.final_url)
        is_same = is_owner or (target_form == form and set(rules).isdisjoint(its_rules))
        self._judged(form, rules, True if is_same else None)

    def led_behind(self, explores: Sequence[Any], target_form: bytes, *, is_covered: bool) -> None:
        """Note that a covered URL redirects to a form that the spider will request itself.

        If the form has an owner, it was reached otherwise, unless only another such redirect has led to it. If it has
        no owner, a link may still come.
        """
        form, _, *rules = explores
        is_known = self._report.owner_of(target_form) is not None and target_form not in self._led
        if is_known and not is_covered:
            self._judged(form, rules, True)
            return
        self.led_alone(target_form)
        if is_covered or not self.knows_owners:
            self._judged(form, rules, None)
        else:
            self._wait(Waiting(self._n_answers, target_form, tuple(rules), None))

    def led_alone(self, form: bytes) -> None:
        """Note that only a test of a coverage rule has led to *form*."""
        if len(self._led) < _MAX_TESTED:
            self._led.add(form)

    def reached(self, form: bytes, page: str | None) -> None:
        """Note that a link on *page* led to *form*: an explored page that redirected to it is reached otherwise too.

        Links on pages that were reached by exploration alone do not count.
        """
        if not self.unreached.n_redirected or page in self._tested:
            return
        self._led.discard(form)
        if (waiting := self.unreached.reached(form)) is not None:
            self._judged(form, waiting.rules, True)

    def saw(self, forms: Sequence[bytes], request: Request, response: Response) -> set[bytes]:
        """Take in the page of an owner; return the forms for which a wall has answered."""
        self._n_answers += 1
        if not forms:
            return set()
        page = _page(request, response)
        host = _host(page)
        refused = self.walls.saw(host, forms, page)
        for form in forms:
            refused.update(self.alike.answered(form, page, host))
        if self._keeps_pages:
            for form in forms:
                if form not in refused:
                    self.comparisons.owner_came(form, page)
            if forms[-1] not in refused:
                self.comparisons.learn_frame(forms[-1], page)
                if self._shown is not None and page.final_url not in self._tested:
                    self._shown.add(page)
        return refused

    def _wait(self, page: Waiting) -> None:
        """Keep an explored page until its verdict; until then one that did not redirect counts as undecided."""
        if page.texts is not None:  # most redirects lead to a page that a link will reach
            self.evidence.undecided(page.rules)
        self.unreached.add(page)
        if len(self.unreached) % _LOOK_AGAIN == 0:
            for shown in list(self.unreached.shown_by_now()):
                self._judged(shown.form, shown.rules, True)

    def _knows_pages(self) -> bool:
        """Return True if this process has seen all pages that the crawl fetched."""
        return not self.is_resumed and self._shown is not None and self._shown.knows_frame

    def _has_shown(self, texts: dict[bytes, int]) -> bool | None:
        if self._shown is None:
            return None
        return self._shown.has_shown(texts)

    def run_dry(self, *, is_idle: bool) -> None:
        """Judge the covered pages that no other page has shown in time; *is_idle*: no more owners will come."""
        for page, is_same in self.unreached.due(self._n_answers, is_idle=is_idle):
            if is_same is False and page.texts is not None and not self._knows_pages():
                self.evidence.undecided(page.rules, is_suspicious=True)
                is_same = None
            self._judged(page.form, page.rules, is_same, was_counted=page.texts is not None)
        if is_idle:
            self.comparisons.run_dry()

    def take_failing(self) -> list[str]:
        """Return the rules to switch off, by the verdicts since the last call."""
        if not self._failing:
            return self._failing
        failing, self._failing = self._failing, []
        return failing

    def to_verify(self) -> list[Kept]:
        """Return some drops of unverified rules, now that no other request is left.

        For each rule: its missing tests, evenly spaced, and some of each long row of untested drops. For a rule whose
        explorations stay undecided: all of its drops.
        """
        rules = self.evidence.drops.by_rule() if self._explores else ()
        held = [rule for rule in rules if self.evidence.is_held(rule)]
        kept = [each for rule in held for each in self._reservoir.take(rule)]
        kept += self._reservoir.sample({rule: self.evidence.n_missing(rule) for rule in rules if rule not in held})
        return self._sent_after_all(kept)

    def to_probe(self) -> list[bytes]:
        """Return the forms to fetch through another URL, because other forms had the same answer."""
        return [probe.form for probe in self.alike.probes(self.comparisons.pages(), self.alternatives.__contains__)]

    def begin_anew(self) -> list[Kept]:
        """Note that the models were replaced; return the drops of the old models."""
        self._credit.clear()
        self._dropped.clear()
        self.comparisons.clear()
        self.unreached.clear()
        return self._sent_after_all(self._reservoir.take_all())

    def switch_off(self, rule: str) -> list[Kept]:
        """Switch off *rule*; return its drops."""
        self._credit.clear()
        self._dropped.clear()
        return self._sent_after_all(self._reservoir.take(rule))

    def _sent_after_all(self, kept: Iterable[tuple[Kept, tuple[str, ...]]]) -> list[Kept]:
        by_url: dict[str, Kept] = {}
        for request, rules in kept:
            self.evidence.drops.dropped(rules, -1)
            by_url[url_of_kept(request)] = request
        return [*by_url.values()]

    def _judged(self, form: bytes, rules: Sequence[str], is_same: bool | None, *, was_counted: bool = False) -> None:
        if is_same is None:
            self._report.count("explored/undecided")
            if not was_counted:
                self.evidence.undecided(rules)
            return
        self._report.count("explored/agree" if is_same else "explored/disagree")
        self._reservoir.tested(rules)
        if (failing := self.evidence.record(rules, form, is_same=is_same)) is not None:
            self._failing.append(failing)


class _UrlSet:
    """A set of URLs by hash; it is cleared when it grows too large."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()

    def __contains__(self, url: str) -> bool:
        return bool(self._hashes) and _hash(url) in self._hashes

    def add(self, url: str) -> None:
        """Add a URL."""
        if len(self._hashes) >= _MAX_URLS:
            self._hashes.clear()
        self._hashes.add(_hash(url))

    def discard(self, url: str) -> None:
        """Remove a URL."""
        self._hashes.discard(_hash(url))

    def clear(self) -> None:
        """Remove all URLs."""
        self._hashes.clear()


def _hash(url: str) -> int:
    return xxhash.xxh3_64_intdigest(url.encode("utf-8", "surrogatepass"))


def _page(request: Request, response: Response) -> FetchedPage:
    asked = request.meta.get("redirect_urls") or [request.url]
    content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
    return FetchedPage.of(asked[0], response.url, content_type, response.body)


def _host(page: FetchedPage) -> str:
    return host_of(normal_form(page.final_url))
