"""``verified`` with one part taken out, and with proposals of some of the miners alone.

The product has no switches for its parts, for nobody should run it without one. Here a part is taken out by putting
something else in its place for the time of one fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from dedup_crawler.methods.verified import Verified
from dedup_crawler.rules import belief, contexts, host_crawl, lateness, proposers, verified_rules
from dedup_crawler.rules.belief import MIN_GROUPS, Belief
from dedup_crawler.rules.budget import expected_lost
from dedup_crawler.rules.columns import Mask, UrlColumns
from dedup_crawler.rules.contexts import ContextSearch
from dedup_crawler.rules.hypotheses import Hypothesis, hypotheses
from dedup_crawler.rules.judge import Evidence
from dedup_crawler.rules.new_words import NewWords
from dedup_crawler.rules.statistics import RuleStatistics
from dedup_crawler.rules.substring_rule import AnyRule
from dedup_crawler.rules.verified_rules import RuleLearner
from dedup_crawler.urls import named_segments, path_parameters, site_grammar, value_lists

PROPOSED = 0.6
"""Share of the crawl that proposes, where it does not judge."""
LOST_COSTS = 10
"""Fetches that a lost page is worth."""

Swap = tuple[Any, str, Any]
"""Where, what, and what stands there instead."""


def _without_stage(stage: int) -> Callable[[UrlColumns], Iterator[Hypothesis]]:
    return lambda columns: (each for each in hypotheses(columns) if each.stage != stage)


def _nothing(*_: object) -> Iterator[Any]:
    return iter(())


def _none(_: Iterable[str]) -> tuple[str, ...]:
    return ()


def _bounded(self: Belief, evidence: Evidence) -> bool:
    return self.may_hold(evidence.n_groups, evidence.n_wrong)


def _counted(self: Belief, n_groups: int, n_wrong: int) -> bool:
    return n_groups >= MIN_GROUPS and n_wrong <= self.risk.max_wrong * n_groups


def _greedy(rules: Sequence[RuleStatistics], max_lost: float) -> list[RuleStatistics]:
    """Every rule that saves more than ten times what it may be expected to lose."""
    return [rule for rule in rules if rule.n_urls > LOST_COSTS * expected_lost(rule)]


def _judged_later(self: Belief, evidence: Evidence) -> bool:
    return self.may_hold(evidence.n_late, evidence.n_late_wrong)


def _of_earlier(options: Callable[[ContextSearch, Mask], Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    return lambda self, live: options(self, live & ~self._trials.is_late)


def _proposed_earlier(self: ContextSearch, conditions: Any, live: Mask, options: Sequence[Any]) -> bool:
    """Take the best condition whose earlier groups are right often enough; its later groups have to pass the bound."""
    most = self._belief.risk.max_wrong
    good = [each for each in options if each.n_groups >= MIN_GROUPS and each.n_wrong <= most * each.n_groups]
    for option in sorted(good, key=lambda each: each.n_wrong - each.n_groups):
        chosen = live & option.mask
        evidence = self._trials.evidence(chosen)
        if self._explains(live, chosen) and self._believed((*conditions, option.condition), chosen, evidence):
            return True
    return False


_believed = ContextSearch._believed


def _fresh_evidence(self: ContextSearch, conditions: Any, chosen: Mask, evidence: Evidence) -> bool:
    """Where a condition was chosen, only groups that did not choose it count for the bound."""
    if not conditions:
        return _believed(self, conditions, chosen, evidence)
    with patch.object(Belief, "holds", _judged_later):
        return _believed(self, conditions, chosen, evidence)


_EARLIER: tuple[Swap, ...] = (
    (ContextSearch, "_item_options", _of_earlier(ContextSearch._item_options)),
    (ContextSearch, "_value_options", _of_earlier(ContextSearch._value_options)),
    (ContextSearch, "_take_best", _proposed_earlier),
    (lateness, "LATE", PROPOSED),
)

PARTS: Mapping[str, tuple[Swap, ...]] = {
    "all of it": (),
    "no value conditions": ((ContextSearch, "_value_options", _nothing),),
    "no contexts": ((verified_rules, "MAX_DEPTH", 0),),
    "one condition at most": ((verified_rules, "MAX_DEPTH", 1),),
    "no crowds": ((ContextSearch, "_find_crowds", lambda self: None),),
    "no pieces": ((verified_rules, "hypotheses", _without_stage(2)),),
    "no joins": ((verified_rules, "hypotheses", _without_stage(1)),),
    "paths without parameters": ((path_parameters, "learn_names", _none),),
    "paths without named segments": ((named_segments, "learn_names", _none),),
    "queries without semicolons": ((site_grammar, "MIN_URLS", math.inf),),
    "values without lists": ((value_lists, "learn_lists", lambda queries: {}),),
    "no proposals of the miners": ((host_crawl, "proposals", _nothing),),
    "no referrer rules": ((host_crawl, "learn_referrer_rules", _nothing),),
    "no coverage rules": ((host_crawl, "learn_coverage_rules", _nothing),),
    "any value, however few were seen": ((contexts, "FEW_VALUES", 0),),
    "strange queries not left alone": ((Verified, "_query_keys", lambda self: {}),),
    "conditions that explain nothing": ((ContextSearch, "_explains", lambda self, live, chosen: True),),
    "new words taken for titles": ((NewWords, "is_one_in", lambda self, url, form: False),),
    "no budget": ((host_crawl, "within_budget", lambda rules, max_lost: list(rules)),),
    "no late confirmation": ((Belief, "holds", _bounded),),
    "no correction for hypotheses tried": ((Belief, "confidence", property(lambda self: 1 - belief.LEVEL)),),
    "no bound: 8 groups, 10 % wrong": ((Belief, "may_hold", _counted),),
    "greedy: saved - 10 lost": ((host_crawl, "within_budget", _greedy),),
    "proposed on the first 60 %, judged on the rest": (*_EARLIER, (Belief, "holds", _judged_later)),
    "contexts proposed on the first 60 %, judged on the rest": (
        *_EARLIER,
        (ContextSearch, "_believed", _fresh_evidence),
    ),
    "neither bound nor late confirmation": ((Belief, "may_hold", _counted), (Belief, "holds", _bounded)),
}
"""What is taken out -> how."""


@contextmanager
def without(part: str) -> Iterator[None]:
    """Take a part out for a while."""
    with ExitStack() as stack:
        for place, name, instead in PARTS[part]:
            stack.enter_context(patch.object(place, name, instead))
        yield


@contextmanager
def proposing(names: Iterable[str]) -> Iterator[list[AnyRule]]:
    """Ask only these miners for a while; gives what they, and a model that is given, propose."""
    asked: list[AnyRule] = []
    ask = RuleLearner.learn_proposed

    def noted(self: RuleLearner, proposed: Iterable[AnyRule]) -> list[AnyRule]:
        asked.extend(proposed)
        return ask(self, asked)

    with ExitStack() as stack:
        chosen = {name: propose for name, propose in proposers.PROPOSERS.items() if name in names}
        stack.enter_context(patch.object(proposers, "PROPOSERS", chosen))
        stack.enter_context(patch.object(RuleLearner, "learn_proposed", noted))
        yield asked
