"""Tests of coverage rules: an explored covered page must show nothing that the crawl does not reach otherwise.

A crawl may reach the same content later, so nothing counts against a rule before PATIENCE further answers have come, or
the crawl has run dry.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from dedup_crawler.live.collecting.response_page import FetchedPage
from dedup_crawler.live.drop_report import DropReport
from dedup_crawler.live.exploration.rule_evidence import RuleEvidence
from dedup_crawler.live.exploration.shown_text import ShownText, shown_texts

PATIENCE = 1_000
"""Number of answers after which content that no other page has shown counts as lost."""
MAX_WAITING = 5_000
"""Maximum of waiting pages; beyond it the oldest get their verdict early."""
_MAX_FORMS = 20_000
_LOOK_AGAIN = 20  # new waiting pages between two checks of all


class _Waiting(NamedTuple):
    """One explored page whose content no other page has shown yet."""

    n_answers: int
    """Number of answers of the crawl when the page came."""
    form: bytes
    """Digest of the form that it redirected to, or of its own form."""
    rules: tuple[str, ...]
    texts: dict[bytes, int]
    """Its texts (:func:`~dedup_crawler.live.exploration.shown_text.shown_texts`); none if it redirected."""


class CoveredTests:
    """Judges explored covered pages, at once or when the crawl has shown enough.

    *on_verdict* is called with a form, the tested rules, and the verdict (None: undecided); *was_counted* tells that
    the test has counted as undecided before. *tested* are the URLs of pages that were fetched as tests.
    """

    def __init__(
        self, evidence: RuleEvidence, report: DropReport, on_verdict: Callable[..., None], tested: set[str]
    ) -> None:
        self.is_resumed = False
        """True if an earlier process fetched pages, whose content is unknown here."""
        self.knows_owners = True
        """True if the owner of each seen form is remembered."""
        self.led: set[bytes] = set()
        """Forms reached only by tests."""
        self.n_answers = 0
        """Number of answers of the crawl."""
        self.redirected: deque[_Waiting] = deque()
        """Waiting pages that redirected, the oldest first: a link to their target decides about them."""
        self._waiting: deque[_Waiting] = deque()  # those that answered in place, the oldest first
        self._linked: set[bytes] = set()  # forms that were linked while the redirect of a test to them was on its way
        self._evidence = evidence
        self._report = report
        self._on_verdict = on_verdict
        self._tested = tested
        self.shown: ShownText | None = None
        """Texts of the fetched pages; None before the first covered URL, unless the crawl learns."""

    def begin(self, pages: Iterable[tuple[bytes, FetchedPage]]) -> None:
        """Take in the kept *pages* before the first test."""
        self.shown = ShownText()
        for _, page in pages:
            self.shown.add(page)

    def saw(self, page: FetchedPage) -> None:
        """Take in the page of an owner."""
        if self.shown is not None and page.final_url not in self._tested:
            self.shown.add(page)

    def judge(self, form: bytes, rules: Sequence[str], page: FetchedPage) -> None:
        """Judge an explored covered page, or let it wait."""
        texts = shown_texts(page)
        if self._has_shown(texts):
            self._on_verdict(form, rules, True)
            return
        self._evidence.undecided(rules)  # until its verdict
        self._waiting.append(_Waiting(self.n_answers, form, tuple(rules), texts))
        if len(self._waiting) % _LOOK_AGAIN == 0:
            self._look_again()

    def wait_for_link(self, form: bytes, rules: Sequence[str]) -> None:
        """Let the redirect of an explored page to *form* wait for a link there, which most redirects get."""
        if form in self._linked:
            self._on_verdict(form, rules, True)
        else:
            self.redirected.append(_Waiting(self.n_answers, form, tuple(rules), {}))

    def led_behind(self, form: bytes, rules: Sequence[str], target_form: bytes, *, is_covered: bool) -> None:
        """Note that a covered URL redirects to a form that the spider will request itself.

        If the form has an owner, it was reached otherwise, unless only another such redirect has led to it. If it has
        no owner, a link may still come.
        """
        is_known = target_form in self._report.owners and target_form not in self.led
        if is_known and not is_covered:
            self._on_verdict(form, rules, True)
            return
        self.led_alone(target_form)
        if is_covered or not self.knows_owners:
            self._on_verdict(form, rules, None)
        else:
            self.wait_for_link(target_form, rules)

    def led_alone(self, form: bytes) -> None:
        """Note that only a test of a coverage rule has led to *form*."""
        if len(self.led) < _MAX_FORMS:
            self.led.add(form)

    def reached(self, form: bytes, page: str | None, *, is_repeat: bool = False) -> None:
        """Note that a link on *page* led to *form*: an explored page that redirected to it is reached otherwise too.

        Links on pages that were reached by exploration alone do not count. The dupefilter drops a repeated link
        (*is_repeat*) even if the redirect to its URL is still queued.
        """
        if page in self._tested:
            return
        if is_repeat or form in self.led:
            self.led.discard(form)
            if len(self._linked) >= _MAX_FORMS:
                self._linked.clear()
            self._linked.add(form)
        waiting = next((each for each in self.redirected if each.form == form), None)
        if waiting is not None:
            self.redirected.remove(waiting)
            self._on_verdict(form, waiting.rules, True)

    def run_dry(self, *, is_idle: bool) -> None:
        """Judge the pages that no other page has shown, or linked, in time; *is_idle*: all."""
        for page in self._due(self.redirected, is_idle):
            self._on_verdict(page.form, page.rules, False)
        for page in self._due(self._waiting, is_idle):
            is_same = self._has_shown(page.texts)
            # an earlier process may have fetched a page that shows it
            if is_same is False and (self.is_resumed or self.shown is None or not self.shown.knows_frame):
                self._evidence.undecided(page.rules, is_suspicious=True)
                is_same = None
            self._on_verdict(page.form, page.rules, is_same, was_counted=True)

    def _due(self, waiting: deque[_Waiting], is_idle: bool) -> Iterator[_Waiting]:
        """Remove and yield the pages whose time is over."""
        while waiting and (is_idle or len(waiting) > MAX_WAITING or self.n_answers - waiting[0].n_answers > PATIENCE):
            yield waiting.popleft()

    def clear(self) -> None:
        """Forget the waiting pages: the forms now come from another model."""
        self._waiting.clear()
        self.redirected.clear()
        self._linked.clear()

    def _look_again(self) -> None:
        """Judge the pages whose content other pages have shown by now."""
        waiting, self._waiting = self._waiting, deque()
        for page in waiting:
            if self._has_shown(page.texts):
                self._on_verdict(page.form, page.rules, True)
            else:
                self._waiting.append(page)

    def _has_shown(self, texts: dict[bytes, int]) -> bool | None:
        return self.shown.has_shown(texts) if self.shown is not None else None
