"""Exploration: some duplicates are fetched as tests, and a rule that merges different pages is switched off."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.http import Response
from scrapy.utils.datatypes import LocalCache

from dedup_crawler.live.collecting.crawl_database import EarlierPages
from dedup_crawler.live.collecting.response_page import FetchedPage
from dedup_crawler.live.drop_report import DropReport
from dedup_crawler.live.exploration.comparisons import Comparisons, Duplicate
from dedup_crawler.live.exploration.covered_tests import CoveredTests
from dedup_crawler.live.exploration.dropped_requests import DroppedRequest, DroppedRequests, UrlSet
from dedup_crawler.live.exploration.reloads import Reloads
from dedup_crawler.live.exploration.rule_life import FIRST_RATE
from dedup_crawler.live.models.live_models import LiveModels
from dedup_crawler.live.options import Options
from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.live.requests.request_text import Kept
from dedup_crawler.live.walls.alike_answers import AlikeAnswers
from dedup_crawler.live.walls.walls import Walls
from dedup_crawler.urls.normal import normal_form

if TYPE_CHECKING:
    from dedup_crawler.live.requests.question import Question

_MAX_CREDIT = 2.0
_MAX_CREDITS = 10_000
_MAX_TESTED = 20_000
_NEEDS_OWNER = 0.5  # such a test costs two pages


class Explorer:
    """Chooses the explorations, compares each with the page it was taken for, and counts the verdicts.

    The *options* give the share of the duplicates to explore; 0 explores nothing and keeps no pages. In a dry run, all
    would-be drops are fetched and compared.
    """

    def __init__(
        self, models: LiveModels, report: DropReport, earlier: EarlierPages, reloads: Reloads, options: Options
    ) -> None:
        self.evidence = models.evidence
        self.walls = Walls(report)
        self.drops = DroppedRequests()
        """Dropped requests, as far as they are kept."""
        self._models = models
        self._report = report
        self._explores = options.exploration > 0 and not options.is_dry_run
        self._keeps_pages = options.exploration > 0 or options.is_dry_run
        self.comparisons = Comparisons(self._judged, models, earlier, reloads)
        if self._keeps_pages:
            reloads.begin()
        self._random = random.Random(0)  # noqa: S311 - only chooses the tests
        self.alike = AlikeAnswers()
        """Rows of consecutive answers that are alike."""
        # least tested rule of a would-be drop -> tests that it is owed
        self._credit: LocalCache[str, float] = LocalCache(_MAX_CREDITS)
        self.fetched = UrlSet()
        """URLs in normal form that were sent as tests, led to another page, or were fetched before their rules were
        learnt: another link to them is dropped for good, without a test."""
        self._queued = UrlSet()
        """URLs with a request in Scrapy's queue, which its dupefilter prefers to a test."""
        self._dropped = UrlSet()
        """URLs that the present rules have dropped."""
        self._ever_dropped = UrlSet()
        """URLs that rules of any model have dropped. Not each new model is a new chance that they become tests."""
        self._tested: set[str] = set()  # URLs of pages that were fetched to test a rule
        self.covered = CoveredTests(self.evidence, report, self._judged, self._tested)
        self._failing: list[str] = []

    def wants(self, question: Question, rules: tuple[str, ...], *, is_awaited: bool) -> bool:
        """Return True if a duplicate by *rules* is to be fetched as a test.

        Links on pages that are tests themselves are not tested: if each answer has new links, testing would never
        end. Nor are URLs that were dropped before: each URL is one drop, however many links lead to it.

        The owner's page may still be on its way (*is_awaited*), or must be fetched again if it is no longer kept.
        """
        least_tested, rate = self.evidence.least_tested(rules)
        linked_on = question.referrer.url if question.referrer is not None else None
        if question.request.url in self._queued and not question.answers_again:
            return False  # a link to a URL with a queued request
        if rate <= 0 or (rate < 1 and (linked_on in self._tested or question.request.url in self._dropped)):
            return False
        if rate < FIRST_RATE and question.request.url in self._ever_dropped:
            return False
        if question.is_covered and self.covered.shown is None:
            self.covered.begin(self.comparisons.owners.items())
        credit = min(_MAX_CREDIT, self._credit.get(least_tested, 0.0) + rate)
        is_cheap = question.is_covered or is_awaited or question.digest in self.comparisons.owners
        is_chosen = rate == 1 or self._random.random() < (credit if is_cheap else credit * _NEEDS_OWNER)
        self._credit[least_tested] = credit - 1 if is_chosen else credit
        if is_chosen:
            self.evidence.begun(rules)
        return is_chosen

    def is_on_trial(self, rules: Iterable[str]) -> bool:
        """Return True if the drops of *rules* must survive a kill."""
        return self._explores and not self.evidence.is_settled(rules)

    def not_sent(self, request: Request) -> None:
        """Note that a test is decided again before its answer, because the models have changed: it tests nothing."""
        test, url = marks.test_of(request), normal_form(request.url)
        if test is None or url not in self.fetched:
            return  # an earlier process has counted it
        self.fetched.discard(url)
        if self._explores:  # a dry run does not count tests
            self.evidence.given_up(test[2])
            self._report.count("request/explored", -1)
            self._report.count("request/processed", -1)

    def dropped(self, question: Question, rules: tuple[str, ...]) -> None:
        """Keep a dropped request, each URL once, in case its rule or the owner of its form turns out wrong."""
        url = question.request.url
        if url in self._dropped:
            return
        if (earlier := self.drops.take_of(question.digest, url)) is not None:
            self._taken_back([earlier], are_sent=False)
        self._dropped.add(url)
        self.evidence.dropped(rules)
        self.drops.add(DroppedRequest(question.kept(), url, question.digest, tuple(dict.fromkeys(rules))))
        self._ever_dropped.add(url)

    def walled(self, form: bytes, request: Request) -> None:
        """Keep a request that was to be sent in place of the owner of a form, for the time when a wall is gone."""
        if not self.drops.has(form, request.url):
            self.evidence.dropped(())
            self.drops.add(DroppedRequest(request, request.url, form))

    def take_alternative(self, form: bytes, url: str | None = None) -> Kept | None:
        """Remove and return the drop of a form with this *url*, to be sent in place of its owner.

        None: the oldest drop whose URL was not fetched since it was dropped.
        """
        while (drop := self.drops.take_of(form, url)) is not None:
            self._taken_back([drop])
            self._dropped.discard(drop.url)  # if it is dropped again, it is kept again
            if url is not None or normal_form(drop.url) not in self.fetched:
                return drop.request
        return None

    def judge(self, test: marks.Test, request: Request, response: Response) -> None:
        """Compare an explored page with the page it was taken for."""
        form, expected, rules = test
        if len(self._tested) < _MAX_TESTED:
            self._tested.add(response.url)
        if self.walls.is_frozen(request.url):
            self.not_answered(test)
        elif expected == marks.REACHED:
            self._judged(form, rules, True)
        elif expected == marks.REACHED_ALONE:
            self.covered.wait_for_link(form, rules)
        elif expected == marks.COVERED:
            self.covered.judge(form, rules, _page(request, response))
        else:
            self.comparisons.explored(form, Duplicate(rules, _page(request, response)))

    def owner_came(self, form: bytes, page: FetchedPage | None) -> None:
        """Take in the page of an owner that was fetched again; None: there is no good answer."""
        if page is None or self.walls.is_frozen(page.url):
            self.comparisons.has_no_owner(form)
        else:
            self.comparisons.owner_came(form, page)

    def not_answered(self, test: marks.Test) -> None:
        """Note that an explored duplicate failed, or got an empty answer."""
        form, _, rules = test
        self._judged(form, rules, None)

    def not_fetched(self, request: Request, test: marks.Test) -> None:
        """Note that *request*, a test or the target of its redirect, will not be fetched."""
        form, expected, rules = test
        if marks.is_redirected(request) and expected not in marks.OF_COVERED:
            self._judge_redirect(form, rules, request.url)
        else:
            self.not_answered(test)

    def swallowed(self, request: Request) -> None:
        """Note that the dupefilter knows the URL of *request*, which may be a test, or the target of a test's redirect.

        For a covered URL, the target counts as reached, unless it is covered as well, or only another such test has led
        to it.
        """
        if (test := marks.take_test(request)) is None:
            return
        form, expected, rules = test
        if not marks.is_redirected(request):
            # nothing is fetched, so nothing is tested; the queued request for this URL is decided when its turn comes
            self.evidence.given_up(rules)
            if self._explores:  # a dry run does not count tests
                self._report.count("request/explored", -1)
                self._report.count("request/kept")  # as any repeat
            self.fetched.discard(normal_form(request.url))
            self._queued.add(request.url)
        elif expected in (marks.REACHED, marks.REACHED_ALONE):
            self._judged(form, rules, True)
        elif expected == marks.COVERED:
            target_form, _ = self._models.form_of(request.url)
            is_new = target_form in self.covered.led or self._models.is_covered(request.url)
            self._judged(form, rules, None if is_new else True)
        else:
            self._judge_redirect(form, rules, request.url)

    def led_on(self, test: marks.Test, target: str | None) -> None:
        """Note that an explored URL redirects to *target* (None: no URL), which the spider may or may not request."""
        form, expected, rules = test
        if target is None:
            self.not_answered(test)
        elif expected in marks.OF_COVERED:
            target_form, _ = self._models.form_of(target)
            self.covered.led_behind(form, rules, target_form, is_covered=self._models.is_covered(target))
        else:
            self._judge_redirect(form, rules, target)

    def _judge_redirect(self, form: bytes, rules: Sequence[str], target: str) -> None:
        """Judge *rules* by the URL that a duplicate redirects to; its page is not compared.

        The owner confirms all of them. Another URL of the same form confirms those that did not make its own form.
        """
        owner = self.comparisons.owners.get(form)
        target_form, its_rules = self._models.form_of(target)
        if owner is not None and target in (owner.url, owner.final_url):
            confirmed = [*rules]
        else:
            confirmed = [rule for rule in rules if target_form == form and rule not in its_rules]
        self.evidence.given_up(set(rules).difference(confirmed) if confirmed else ())
        self._judged(form, confirmed or rules, True if confirmed else None)

    def saw(self, forms: Sequence[bytes], request: Request, response: Response) -> set[bytes]:
        """Take in the page of an owner; return the forms for which a wall has answered."""
        self.covered.n_answers += 1
        return self.took(forms, _page(request, response)) if forms else set()

    def passed(self, request: Request, response: Response) -> None:
        """Take in a page that answers for no form, such as those before the first model."""
        if self._keeps_pages and self.covered.shown is not None:
            self.covered.saw(_page(request, response))

    def took(self, forms: Sequence[bytes], page: FetchedPage) -> set[bytes]:
        """Take *page* for that of *forms*; return those for which it is a wall."""
        refused = self.walls.saw(forms, page)
        for form in forms:
            refused.update(self.alike.answered(form, page))
        if self._keeps_pages:
            for form in forms:
                if form not in refused:
                    self.comparisons.owner_came(form, page)
            if forms[-1] not in refused:
                self.comparisons.learn_frame(forms[-1], page)
                self.covered.saw(page)
        return refused

    def run_dry(self, *, is_idle: bool) -> None:
        """Judge the covered pages that no other page has shown in time; *is_idle*: no more owners will come."""
        self.covered.run_dry(is_idle=is_idle)
        if is_idle:
            self.comparisons.run_dry()

    def take_failing(self) -> list[str]:
        """Return the rules to switch off, by the verdicts since the last call."""
        failing, self._failing = self._failing, []
        return failing

    def to_verify(self) -> list[Kept]:
        """Return some drops of unverified rules, now that no other request is left.

        For each rule: its missing tests, evenly spaced, and some of each long row of untested drops. For a value of a
        candidate: its missing test. For a rule whose explorations stay undecided: all of its drops.
        """
        if not self._explores:
            return []
        rules = self.evidence.n_dropped()
        held = [rule for rule in rules if self.evidence.is_held(rule)]
        taken = [drop for rule in held for drop in self.drops.take(rule)]
        n_missing = {rule: self.evidence.n_missing(rule) for rule in rules if rule not in held}
        n_missing |= {value: 1 for value in self.evidence.dropped_values() if self.evidence.n_missing(value)}
        taken += self.drops.sample(n_missing, self.evidence.speakers.has_spoken)
        return self._taken_back(taken)

    def take_missing(self, is_missing: Callable[[str], bool]) -> list[Kept]:
        """Return the drops whose URL is missing on the page that they were taken for."""
        return self._taken_back(self.drops.take_if(is_missing))

    def to_probe(self) -> list[bytes]:
        """Return the forms to fetch through another URL, because other forms had the same answer."""
        return self.alike.probes(self.comparisons.owners.items(), self.drops.has)

    def begin_anew(self) -> list[Kept]:
        """Note that the models were replaced; return the drops of the old models, which the new ones decide anew."""
        self._dropped.clear()
        self.comparisons.clear()
        self.covered.clear()
        return self._taken_back(self.drops.take_all(), are_sent=False)

    def switch_off(self, rule: str) -> list[Kept]:
        """Switch off *rule*; return its drops."""
        self._dropped.clear()
        taken = self.drops.take(rule)
        for drop in taken:  # if another rule drops it, the tests of this one say nothing of that
            self._ever_dropped.discard(drop.url)
        return self._taken_back(taken)

    def _taken_back(self, drops: Iterable[DroppedRequest], *, are_sent: bool = True) -> list[Kept]:
        by_url: dict[str, Kept] = {}
        for drop in drops:
            self.evidence.taken_back(drop.rules, is_sent=are_sent)
            by_url[drop.url] = drop.request
        return [*by_url.values()]

    def _judged(self, form: bytes, rules: Sequence[str], is_same: bool | None, *, was_counted: bool = False) -> None:
        if is_same is None:
            self._report.count("explored/undecided")
            if not was_counted:
                self.evidence.undecided(rules)
            return
        self._report.count("explored/agree" if is_same else "explored/disagree")
        self.drops.tested(rules)
        if (failing := self.evidence.record(rules, form, is_same=is_same)) is not None:
            self._failing.append(failing)


def _page(request: Request, response: Response) -> FetchedPage:
    asked = request.meta.get("redirect_urls") or [request.url]
    return FetchedPage.of_response(response, asked[0])
