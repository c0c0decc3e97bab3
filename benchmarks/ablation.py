"""``verified`` without one of its parts, and with the proposals of some miners only.

The package has no switches for its parts, because nobody should run it without one. Here a part is replaced by
something else during one fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from dedup_crawler.evidence import site_text
from dedup_crawler.evidence.comparing import PageEvidence, Verdict
from dedup_crawler.rules.applying.new_words import NewWords
from dedup_crawler.rules.language import site_rules
from dedup_crawler.rules.language.operations import Drop, Star, Unordered
from dedup_crawler.rules.language.rule import AnyRule, Rule
from dedup_crawler.rules.language.statistics import MergeEvidence, RuleStatistics
from dedup_crawler.rules.learning import contexts, host_crawl, proposers, site_learning, trials, verified_rules
from dedup_crawler.rules.learning import hypotheses as hypothesis_makers
from dedup_crawler.rules.learning.belief import expected_lost
from dedup_crawler.rules.learning.columns import Integers, Mask, UrlColumns
from dedup_crawler.rules.learning.contexts import ContextSearch
from dedup_crawler.rules.learning.hypotheses import Hypothesis, hypotheses
from dedup_crawler.rules.learning.verified_rules import RuleLearner
from dedup_crawler.urls import page_links, path_names, site_grammar
from dedup_crawler.urls.keyvalue import query_names

LOST_COSTS = 10
"""Number of fetches that one lost page costs."""

Swap = tuple[Any, str, Any]
"""Object, name of its attribute, and replacement."""


def _without_stage(stage: int) -> Callable[[UrlColumns], Iterator[Hypothesis]]:
    return lambda columns: (each for each in hypotheses(columns) if each.stage != stage)


def _without_rules(is_left_out: Callable[[Rule], bool]) -> tuple[Swap, ...]:
    """Swap out the hypotheses of the own rule language for which *is_left_out* returns True."""

    def kept(columns: UrlColumns) -> Iterator[Hypothesis]:
        return (each for each in hypotheses(columns) if not isinstance(each.rule, Rule) or not is_left_out(each.rule))

    return ((verified_rules, "hypotheses", kept),)


def _drops(prefix: str) -> Callable[[Rule], bool]:
    return lambda rule: any(
        key.startswith(prefix) and isinstance(operation, (Drop, Star)) for key, operation in rule.transformation.items()
    )


def _until_depth(depth: int) -> tuple[tuple[int, int], ...]:
    return tuple(step for step in verified_rules.STEPS if step[1] <= depth)


def _nothing(*_: object) -> Iterator[Any]:
    return iter(())


def _none(_: Iterable[str]) -> tuple[str, ...]:
    return ()


def _all_wrong(self: RuleLearner, context: contexts.Context, found: trials.Trials) -> RuleStatistics:
    n_urls, n_wrong = int(context.trials.sum()), int((context.trials & ~found.is_right).sum())
    evidence = MergeEvidence(context.evidence.n_groups, context.evidence.n_wrong)
    return RuleStatistics(n_urls, n_urls, n_wrong, evidence)


def _only_by_order(self: site_rules.HostLinks, url: str) -> str:
    """Leave URLs alone whose query is not sorted, where its order matters, and no others."""
    return replace(self, query_names=frozenset(query_names(url))).why_left_alone(url) if self.is_ordered else ""


_weighed = trials.weighed


def _plain_groups(groups: Integers, is_right: Mask, mask: Mask, values: Integers) -> tuple[Any, Any, Any]:
    weights, wrong, values = _weighed(groups, is_right, mask, values)
    return np.ones(len(weights)), np.where(wrong > 0, 1.0, 0.0), values


def _by_clusters(self: PageEvidence, pairs: Iterable[tuple[int, int]], groups: Sequence[int]) -> list[Verdict]:
    """Judge pairs by their clusters alone."""
    return [Verdict.DIFFERENT for _ in groups]


def _clusters(self: PageEvidence, clusters: Sequence[int]) -> Sequence[int]:
    return clusters


def _greedy(rules: Sequence[RuleStatistics], max_lost: float) -> list[RuleStatistics]:
    """Return the rules that save more than ten times their expected losses."""
    return [rule for rule in rules if rule.n_urls > LOST_COSTS * expected_lost(rule)]


PARTS: Mapping[str, tuple[Swap, ...]] = {
    "all of it": (),
    "no value conditions": ((ContextSearch, "_value_options", _nothing),),
    "no contexts": ((verified_rules, "STEPS", _until_depth(0)),),
    "one condition at most": ((verified_rules, "STEPS", _until_depth(1)),),
    "no crowds": ((ContextSearch, "_find_crowds", lambda self: None),),
    "keys of queries always matter": _without_rules(_drops("query[")),
    "path parts always matter": _without_rules(_drops("path[")),
    "slashes and extensions always matter": _without_rules(lambda rule: _drops("slash")(rule) or _drops("ext")(rule)),
    "the order of a list always matters": _without_rules(
        lambda rule: any(isinstance(operation, Unordered) for operation in rule.transformation.values())
    ),
    "no path is another without a segment": ((hypothesis_makers, "prefix_aliases", _nothing),),
    "no pieces": ((verified_rules, "hypotheses", _without_stage(2)),),
    "no joins": ((hypothesis_makers, "template_joins", _nothing),),
    "one spelling of each value": ((hypothesis_makers, "spellings", _nothing),),
    "no index files": ((hypothesis_makers, "index_files", _nothing),),
    "paths without parameters": ((path_names, "learn_parameters", _none),),
    "paths without named segments": ((path_names, "learn_segments", _none),),
    "queries without semicolons": ((site_grammar, "MIN_URLS", math.inf),),
    "values without lists": ((site_grammar, "learn_lists", lambda queries: {}),),
    "no proposals of the miners": ((host_crawl, "proposals", _nothing),),
    "no referrer rules": ((host_crawl, "learn_referrer_rules", lambda links, belief: {}),),
    "no rules about short lists": ((site_learning, "_of_short_lists", lambda *_: None),),
    "most lists may be long": ((site_learning, "MAX_LONG", 1.0),),
    "no name for numbers below a page": ((page_links, "_goes_on", lambda *_: False),),
    "names of links only in the same place": ((site_rules, "names_among", lambda values: set()),),
    "no coverage rules": ((host_crawl, "learn_coverage_rules", _nothing),),
    "unknown query names do not matter": ((site_rules.HostLinks, "why_left_alone", _only_by_order),),
    "any value, however few were seen": ((contexts, "FEW_VALUES", 0),),
    "a few values are believed together": (
        (ContextSearch, "_believed_alone", lambda self, chosen: range(len(self._trials.gone_values))),
    ),
    "one value for each group is enough": ((ContextSearch, "_is_one_for_each", lambda self, key, chosen: False),),
    "sections tell where pages have more to show": ((ContextSearch, "_is_explained", lambda self, conditions: True),),
    "new words taken for titles": ((NewWords, "is_one_in", lambda self, url, form: False),),
    "clusters alone say what is the same": ((PageEvidence, "judge", _by_clusters), (PageEvidence, "alike", _clusters)),
    "clusters alone are proposed from": ((PageEvidence, "alike", _clusters),),
    "nothing is systematic": ((site_text, "SYSTEMATIC_GROUPS", 10**9), (site_text, "NEW_GROUPS", 10**9)),
    "no budget": ((host_crawl, "within_budget", lambda rules, max_lost: list(rules)),),
    "groups of many values weigh one": ((trials, "weighed", _plain_groups), (contexts, "weighed", _plain_groups)),
    "groups that show one page count each": ((trials, "_units", lambda groups, is_right, pages: groups),),
    "printed values are no names": ((trials, "MATTERS_SHARE", 1.0),),
    "few values apply to all sections": ((RuleLearner, "_tested_sections", lambda learner, rows, known: {}),),
    "contradictions that lose no page count": ((RuleLearner, "_statistics", _all_wrong),),
    "greedy: saved - 10 lost": ((host_crawl, "within_budget", _greedy),),
}
"""Part -> the swaps that remove it."""


@contextmanager
def without(part: str) -> Iterator[None]:
    """Remove a part within the context."""
    with ExitStack() as stack:
        for place, name, instead in PARTS[part]:
            stack.enter_context(patch.object(place, name, instead))
        yield


@contextmanager
def proposing(names: Iterable[str]) -> Iterator[list[AnyRule]]:
    """Use only these miners within the context; yield the list of proposals, including those of a given model."""
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
