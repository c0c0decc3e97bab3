"""Trust, but check: some duplicates are fetched all the same, and a rule that merges different pages has to go."""

from __future__ import annotations

import random
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dedup_crawler.live import request_marks as marks
from dedup_crawler.live.exploration.alternatives import Alternatives
from dedup_crawler.live.exploration.chrome import ChromeOfHosts
from dedup_crawler.live.exploration.freeze import SiteFreeze, WatchedPage
from dedup_crawler.live.exploration.owner_pages import FetchedPage, OwnerPages
from dedup_crawler.live.exploration.reservoir import Reservoir
from dedup_crawler.live.exploration.rule_evidence import RuleEvidence
from dedup_crawler.live.exploration.same_page import same_page
from dedup_crawler.urls.normal import host_of, normal_form

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from dedup_crawler.live.drop_report import DropReport

_MAX_CREDIT = 2.0
_MAX_RULE_SETS = 10_000
_MAX_HOSTS = 100
_MAX_WALLED = 20_000
_PATIENCE = 1_000
"""A page behind a covered template that no other link has reached after so many more answers counts as lost."""


class Explorer:
    """Chooses what is explored, compares it with the page it was taken for, and counts.

    Parameters
    ----------
    evidence
        What is known of the rules.
    report
        Who is told.
    epsilon
        Share (0-1) of the duplicates that is explored; 0 explores nothing and keeps no pages.
    is_dry_run
        Everything that would be dropped is fetched, and compared.
    seed
        Of the choice.
    """

    def __init__(
        self, evidence: RuleEvidence, report: DropReport, epsilon: float, *, is_dry_run: bool, seed: int = 0
    ) -> None:
        self.evidence = evidence
        self._report = report
        self._keeps_pages = epsilon > 0 or is_dry_run
        self._pages = OwnerPages()
        self._chrome = ChromeOfHosts()
        self._reservoir: Reservoir[Request] = Reservoir()
        self.alternatives: Alternatives[Request] = Alternatives()
        """What was dropped, by its form."""
        self._freezes: OrderedDict[str, SiteFreeze] = OrderedDict()
        self._frozen: set[str] = set()
        self._wall_forms: OrderedDict[bytes, None] = OrderedDict()  # forms that got a wall for a page
        self._random = random.Random(seed)  # noqa: S311 - it chooses what is checked
        self._credit: dict[tuple[str, ...], float] = {}
        self.unreached: deque[tuple[int, bytes, tuple[str, ...]]] = deque()
        """Explored pages behind covered templates that no link has reached: the answers before, the form, the rules."""
        self._n_answers = 0

    def is_frozen(self, url: str) -> bool:
        """Whether the site of *url* shows one page for everything: nothing is dropped or believed meanwhile."""
        return bool(self._frozen) and host_of(url) in self._frozen

    def wants(self, rules: tuple[str, ...], form: bytes, *, is_covered: bool) -> bool:
        """Whether a duplicate is to be fetched all the same.

        What cannot be compared, because its owner's page is not kept any more, is made up for by others of the rules.
        """
        rate = self.evidence.rate(rules)
        if rate <= 0:
            return False
        if len(self._credit) >= _MAX_RULE_SETS:
            self._credit.clear()
        credit = min(_MAX_CREDIT, self._credit.get(rules, 0.0) + rate)
        is_chosen = (is_covered or form in self._pages) and self._random.random() < credit
        self._credit[rules] = credit - 1 if is_chosen else credit
        return is_chosen

    def dropped(self, rules: tuple[str, ...], request: Request, form: bytes) -> None:
        """Remember what was dropped, in case its rule or its form's owner turns out wrong."""
        self._reservoir.add(rules, request)
        self.alternatives.add(form, request)

    def is_walled(self, form: bytes) -> bool:
        """Whether a wall has answered for *form*, and still stands."""
        return form in self._wall_forms

    def take_unwalled(self, *, is_idle: bool) -> list[bytes]:
        """Forms that a wall had answered for, now that none stands, or (*is_idle*) that nothing else is left to do."""
        if not self._wall_forms or (self._frozen and not is_idle):
            return []
        forms = list(self._wall_forms)
        self._wall_forms.clear()
        return forms

    def judge(self, explores: Sequence[Any], request: Request, response: Response) -> str | None:
        """Compare an explored page with the one it was taken for; gives the rule that has to go, if one has."""
        form, covered, *rules = explores
        if covered == marks.REACHED_ALONE:
            # a link may still come
            self.unreached.append((self._n_answers, form, tuple(rules)))
            return None
        if covered:
            return self._judged(form, rules, True if covered == marks.REACHED else None)
        owner = self._pages.get(form)
        if owner is None:
            return self._judged(form, rules, None)
        page = _page(request, response)
        chrome = self._chrome.of(_host(page))
        chrome.catch_up(self._pages)
        return self._judged(form, rules, same_page(owner, page, chrome))

    def swallowed(self, request: Request) -> str | None:
        """Hear that an explored URL redirects to a page that was seen."""
        explores = request.meta.get(marks.EXPLORES)
        if explores is None or not marks.is_redirected(request):
            return None
        form, covered, *rules = explores
        owner = self._pages.get(form)
        is_same = covered or (owner is not None and request.url in (owner.url, owner.final_url))
        return self._judged(form, rules, True if is_same else None)

    def led_on(self, explores: Sequence[Any], target: str, target_form: bytes, its_rules: Sequence[str]) -> str | None:
        """Hear that an explored URL redirects to *target*, which the spider may ask for by itself, or not.

        The owner's page is there if the target is the owner, or has its form without any of the rules that are tested.
        """
        form, covered, *rules = explores
        if covered:
            return None
        owner = self._pages.get(form)
        is_owner = owner is not None and target in (owner.url, owner.final_url)
        is_same = is_owner or (target_form == form and set(rules).isdisjoint(its_rules))
        return self._judged(form, rules, True if is_same else None)

    def reached(self, form: bytes) -> None:
        """Hear that a link led to *form*: what an explored URL showed is reached otherwise too."""
        for place, (_, awaited, rules) in enumerate(self.unreached):
            if awaited == form:
                del self.unreached[place]
                self._judged(form, rules, True)
                return

    def saw(self, forms: Sequence[bytes], request: Request, response: Response) -> set[bytes]:
        """Take in the page of an owner; gives the forms that a wall in front of the site has answered for."""
        self._n_answers += 1
        if not forms:
            return set()
        page = _page(request, response)
        host = _host(page)
        refused = self._walled(host, forms, page) if "html" in page.content_type else set()
        if self._keeps_pages:
            for form in forms:
                if form not in refused:
                    self._pages.put(form, page)
            if forms[-1] not in refused:
                self._chrome.of(host).offer(forms[-1], page)
        for form in refused:
            self._wall_forms[form] = None
            if len(self._wall_forms) > _MAX_WALLED:
                self._wall_forms.popitem(last=False)
        return refused

    def _walled(self, host: str, forms: Sequence[bytes], page: FetchedPage) -> set[bytes]:
        freeze = self._freezes.get(host)
        if freeze is None:
            freeze = self._freezes[host] = SiteFreeze()
            if len(self._freezes) > _MAX_HOSTS:
                self._frozen.discard(self._freezes.popitem(last=False)[0])
        else:
            self._freezes.move_to_end(host)
        watched = WatchedPage(page)
        if freeze.see(forms[-1], watched):
            if not freeze.is_frozen:
                self._frozen.discard(host)
                self._report.inform(f"{host} shows different pages again: duplicates are filtered as before.")
                return set()
            self._frozen.add(host)
            self._report.count("site/frozen")
            self._report.warn(
                f"{host} suddenly answers with one page for many URLs (a login form, a captcha?), now {page.url}: "
                "nothing of it is dropped or counted as seen until that changes."
            )
            return {*forms, *freeze.wall_forms()}
        return set(forms) if freeze.is_frozen and freeze.is_wall(watched) else set()

    def run_dry(self, *, is_idle: bool) -> list[str]:
        """Judge what covered templates showed and no link has reached in time; gives the rules that have to go."""
        failing = []
        while self.unreached and (is_idle or self._n_answers - self.unreached[0][0] > _PATIENCE):
            _, form, rules = self.unreached.popleft()
            if (rule := self._judged(form, rules, False)) is not None:
                failing.append(rule)
        return failing

    def begin_anew(self) -> None:
        """Say that forms are those of other models now."""
        self._credit.clear()
        self._pages.clear()
        self.unreached.clear()

    def switch_off(self, rule: str) -> list[Request]:
        """Give back what *rule* dropped."""
        self._credit.clear()
        self._pages.clear()
        by_url = {request.url: request for request in self._reservoir.take(rule)}
        return list(by_url.values())

    def _judged(self, form: bytes, rules: Sequence[str], is_same: bool | None) -> str | None:
        if is_same is None:
            self._report.count("explored/undecided")
            return None
        self._report.count("explored/agree" if is_same else "explored/disagree")
        return self.evidence.record(rules, form, is_same=is_same)


def _page(request: Request, response: Response) -> FetchedPage:
    asked = request.meta.get("redirect_urls") or [request.url]
    content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
    return FetchedPage.of(asked[0], response.url, content_type, response.body)


def _host(page: FetchedPage) -> str:
    return host_of(normal_form(page.final_url))
