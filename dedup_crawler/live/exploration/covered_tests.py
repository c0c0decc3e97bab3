"""Tests of coverage rules: an explored covered page must show nothing that the crawl does not reach otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dedup_crawler.live.exploration.covered_pages import ShownText, Unreached, Waiting, shown_texts

if TYPE_CHECKING:
    from dedup_crawler.live.comparing.owner_pages import FetchedPage
    from dedup_crawler.live.exploration.rule_evidence import RuleEvidence
    from dedup_crawler.live.telling.drop_report import DropReport

_MAX_LED = 20_000
_LOOK_AGAIN = 20  # answers between two checks of the waiting pages


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
        self.unreached = Unreached(self._has_shown)
        """Explored covered pages whose content no other page has shown yet."""
        self._evidence = evidence
        self._report = report
        self._on_verdict = on_verdict
        self._tested = tested
        self.shown: ShownText | None = None
        """Texts of the fetched pages; None before the first covered URL."""

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
        else:
            self.wait(form, rules, texts)

    def wait(self, form: bytes, rules: Sequence[str], texts: dict[bytes, int] | None) -> None:
        """Keep an explored page until its verdict; until then one that did not redirect counts as undecided."""
        page = Waiting(self.n_answers, form, tuple(rules), texts)
        if texts is not None:  # most redirects lead to a page that a link will reach
            self._evidence.undecided(page.rules)
        self.unreached.add(page)
        if len(self.unreached) % _LOOK_AGAIN == 0:
            for shown in list(self.unreached.shown_by_now()):
                self._on_verdict(shown.form, shown.rules, True)

    def led_behind(self, explores: Sequence[Any], target_form: bytes, *, is_covered: bool) -> None:
        """Note that a covered URL redirects to a form that the spider will request itself.

        If the form has an owner, it was reached otherwise, unless only another such redirect has led to it. If it has
        no owner, a link may still come.
        """
        form, _, *rules = explores
        is_known = self._report.owner_of(target_form) is not None and target_form not in self.led
        if is_known and not is_covered:
            self._on_verdict(form, rules, True)
            return
        self.led_alone(target_form)
        if is_covered or not self.knows_owners:
            self._on_verdict(form, rules, None)
        else:
            self.wait(target_form, rules, None)

    def led_alone(self, form: bytes) -> None:
        """Note that only a test of a coverage rule has led to *form*."""
        if len(self.led) < _MAX_LED:
            self.led.add(form)

    def reached(self, form: bytes, page: str | None) -> None:
        """Note that a link on *page* led to *form*: an explored page that redirected to it is reached otherwise too.

        Links on pages that were reached by exploration alone do not count.
        """
        if not self.unreached.n_redirected or page in self._tested:
            return
        self.led.discard(form)
        if (waiting := self.unreached.reached(form)) is not None:
            self._on_verdict(form, waiting.rules, True)

    def run_dry(self, *, is_idle: bool) -> None:
        """Judge the pages that no other page has shown in time; *is_idle*: all."""
        for page, is_same in self.unreached.due(self.n_answers, is_idle=is_idle):
            if is_same is False and page.texts is not None and not self._knows_pages():
                self._evidence.undecided(page.rules, is_suspicious=True)
                is_same = None
            self._on_verdict(page.form, page.rules, is_same, was_counted=page.texts is not None)

    def clear(self) -> None:
        """Forget the waiting pages: the forms now come from another model."""
        self.unreached.clear()

    def _knows_pages(self) -> bool:
        """Return True if this process has seen all pages that the crawl fetched."""
        return not self.is_resumed and self.shown is not None and self.shown.knows_frame

    def _has_shown(self, texts: dict[bytes, int]) -> bool | None:
        if self.shown is None:
            return None
        return self.shown.has_shown(texts)
