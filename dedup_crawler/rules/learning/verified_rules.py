"""Learns the rules that a crawl confirms: tests every hypothesis on its merge groups, coarse to fine.

A believed rule is applied to the columns before the next hypothesis is tested. So two parameters that do not matter are
found one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

import numpy as np

from dedup_crawler.rules.language.matchers import Matcher, NoneOf, one_of
from dedup_crawler.rules.language.rule import AnyRule, Rule, SubstringRule, section_of
from dedup_crawler.rules.language.statistics import MergeEvidence, RuleStatistics
from dedup_crawler.rules.learning.belief import FEW_VALUES, MIN_GROUPS, Belief
from dedup_crawler.rules.learning.columns import Integers, Mask, UrlColumns
from dedup_crawler.rules.learning.contexts import MAX_DEPTH, Context, ContextSearch
from dedup_crawler.rules.learning.hypotheses import MIN_URLS, STAGES, Hypothesis, hypotheses
from dedup_crawler.rules.learning.trials import Trials, trials_of

MAX_ROUNDS = 3
"""Most rounds through all hypotheses: a believed rule may reveal others."""
MIN_TESTED = 2
"""Smallest number of right trials at a path length, for a rule to be about paths of that length."""
KIND_SHARE = 0.01
"""Smallest share (0-1) of the URLs with an extension; a rarer one is a name with a dot."""
STEPS = (
    *((stage, depth) for depth in range(MAX_DEPTH + 1) for stage in range(STAGES - 1)),
    *((STAGES - 1, depth) for depth in range(MAX_DEPTH + 1)),
)
"""Stages of hypotheses with the depths of their contexts: no conditions first, pieces of values last."""


class RuleLearner:
    """Learns the rules of one host."""

    def __init__(self, columns: UrlColumns, belief: Belief, origin: str) -> None:
        self.columns = columns
        self.belief = belief
        self.rules: list[AnyRule] = []
        self._candidates: dict[object, AnyRule] = {}
        self._origin = origin
        self._asked: list[Hypothesis] | None = None  # None after a rule has changed the columns
        self._known_trials: dict[tuple[object, ...], Trials] = {}

    def learn(self) -> list[AnyRule]:
        """Learn rules, in the order in which they are applied."""
        for _ in range(MAX_ROUNDS):
            n_before = len(self.rules)
            for stage, depth in STEPS:
                if self._asked is None:
                    self._asked = list(hypotheses(self.columns))
                self._ask([hypothesis for hypothesis in self._asked if hypothesis.stage == stage], depth)
            if len(self.rules) == n_before:
                break
        return self.rules

    def learn_asked(self, asked: Sequence[Hypothesis]) -> list[AnyRule]:
        """Learn the rules of given hypotheses only, coarse to fine."""
        for depth in range(MAX_DEPTH + 1):
            self._ask(asked, depth)
        return self.rules

    def learn_proposed(self, proposed: Iterable[AnyRule]) -> list[AnyRule]:
        """Learn proposed rules; each is judged in its own context.

        Those that change a key that shows more or less of a page are judged everywhere: a section of short pages says
        nothing of its next page.
        """
        its = (Hypothesis(rule, None, STAGES) for rule in proposed if rule.host == self.columns.host)
        asked = (hypothesis.everywhere(self.belief.excerpts) for hypothesis in its)
        self._ask({each.rule.identity(): each for each in asked if each is not None}.values(), 0)
        return self.rules

    def candidates(self) -> list[AnyRule]:
        """Learnt rules without the restriction to few values, which a crawl has to test value by value."""
        known = {rule.identity() for rule in self.rules}
        return [rule for identity, rule in self._candidates.items() if identity not in known]

    def _ask(self, asked: Iterable[Hypothesis], depth: int) -> None:
        """Test hypotheses, those with most right trials first."""
        rated = [(int(self._trials(hypothesis).is_right.sum()), hypothesis) for hypothesis in asked]
        enough = [(n_right, hypothesis) for n_right, hypothesis in rated if n_right >= MIN_GROUPS]
        for _, hypothesis in sorted(enough, key=lambda entry: -entry[0]):
            self._test(hypothesis, self._trials(hypothesis), depth)

    def _trials(self, hypothesis: Hypothesis) -> Trials:
        identity = hypothesis.rule.identity()
        if identity not in self._known_trials:
            self._known_trials[identity] = trials_of(hypothesis, self.columns)
        return self._known_trials[identity]

    def _test(self, hypothesis: Hypothesis, trials: Trials, depth: int) -> None:
        """Learn the contexts in which a hypothesis holds.

        Of those about a few values only one at a time: each may be right, and two of them together give one form to two
        different pages. So the next one is judged on URLs that the one before has changed.
        """
        self.belief.n_tried += 1
        n_before = len(self.rules)
        while True:
            search = ContextSearch(trials, self.columns, hypothesis, self.belief)
            contexts = search.search(depth)
            valued = [context for context in contexts if context.gone_values is not None]
            taken = [context for context in contexts if context.gone_values is None or context is valued[0]]
            rules = [self._learnt(hypothesis, context, trials) for context in taken]
            candidates = [self._learnt(hypothesis, context, trials) for context in search.candidates]
            self._candidates |= {rule.identity(): rule for rule in candidates}
            n_rows = len(self.columns)
            for rule in rules:
                self.columns.apply(rule)
            self.rules += rules
            if len(valued) < 2 or len(self.columns) == n_rows:  # nothing merged: another search finds the same
                break
            trials = trials_of(hypothesis, self.columns)
        if len(self.rules) > n_before:
            self.belief.note_believed(hypothesis.rule.identity())
            self._asked = None
            self._known_trials.clear()
        else:
            self._refuse(hypothesis, trials, search.doubt)

    def _refuse(self, hypothesis: Hypothesis, trials: Trials, doubt: str) -> None:
        """Note a hypothesis that holds in no context, with its evidence on the whole host, or another *doubt*."""
        found = trials.evidence(np.ones(len(trials), bool))
        judged = MergeEvidence(found.n_groups, found.n_wrong)
        asked = replace(hypothesis.rule, statistics=RuleStatistics(evidence=judged))
        reason = self.belief.why_not(found) or doubt
        self.belief.refuse(hypothesis.rule.identity(), asked, reason)

    def _learnt(self, hypothesis: Hypothesis, context: Context, trials: Trials) -> AnyRule:
        statistics = self._statistics(context, trials)
        origin = hypothesis.rule.origin or self._origin
        if isinstance(hypothesis.rule, SubstringRule):
            rows = trials.rows[context.trials & trials.is_right]
            substring = replace(hypothesis.rule, origin=origin, statistics=statistics)
            return self._in_tested_sections(substring, rows) if hypothesis.stage == STAGES else substring
        rule = replace(_in_context(hypothesis.rule, hypothesis.key, context), origin=origin, statistics=statistics)
        return self._confined(rule, hypothesis.rule, hypothesis.touched(), context, trials)

    def _in_tested_sections(self, rule: SubstringRule, rows: Integers) -> SubstringRule:
        """Narrow a proposed rule to the sections of the tested *rows*, if these are few.

        It has no other conditions, so it would hold for feeds and files in which it was never tested.
        """
        tested = frozenset(section_of(self.columns.rest(row)) for row in rows.tolist())
        return replace(rule, sections=tested) if len(tested) < FEW_VALUES and not rule.at_start else rule

    def _statistics(self, context: Context, trials: Trials) -> RuleStatistics:
        """Count the trials; false pairs are those whose page no URL shows that the rule leaves alone."""
        wrong = trials.rows[context.trials & ~trials.is_right]
        is_left = np.ones(len(self.columns), bool)  # (rows,)
        is_left[trials.rows[context.trials]] = False
        pages = self.columns.clusters
        n_lost = int((~np.isin(pages[wrong], pages[is_left])).sum())
        n_urls = int(context.trials.sum())
        evidence = MergeEvidence(context.evidence.n_groups, context.evidence.n_wrong)
        return RuleStatistics(n_urls, n_urls, n_lost, evidence)

    def _confined(self, rule: Rule, asked: Rule, touched: Set[str], context: Context, trials: Trials) -> Rule:
        """Narrow the rule to the kinds of URLs on which it was right, and drop conditions that change nothing.

        The rule then excludes query keys and path parts of many matched URLs, if no right trial has them, and query
        keys of wrong trials. Conditions on the query and the conditions of a crowd always stay.
        """
        rows = trials.rows[context.trials & trials.is_right]
        wrong = trials.rows[context.trials & ~trials.is_right]
        matched = self.columns.matching(rule)
        strange = {
            key
            for key, column in self.columns.columns.items()
            if key.startswith("query[")
            and ((column.numbers[matched] >= 0).sum() >= MIN_URLS or (column.numbers[wrong] >= 0).any())
            and not (column.numbers[rows] >= 0).any()
        }
        spoken = touched | rule.context.keys()
        sections = self._strange_sections(matched, rows, spoken)
        if context.matters_elsewhere:
            sections |= self._tested_sections(rows, spoken)
        if all(key.startswith("query[") for key in touched):
            sections |= self._strange_depths(matched, rows, spoken)
        rule = replace(rule, absent=rule.absent | strange, context={**rule.context, **sections})
        matched = self.columns.matching(rule)
        for key in sorted(rule.absent - asked.absent):
            shorter = replace(rule, absent=rule.absent - {key})
            rule = shorter if (self.columns.matching(shorter) == matched).all() else rule
        for key in sorted(rule.context.keys() - asked.context.keys()):
            if not key.startswith("query[") and key not in sections and not context.is_crowd:
                fewer = {name: matcher for name, matcher in rule.context.items() if name != key}
                shorter = replace(rule, context=fewer)
                rule = shorter if (self.columns.matching(shorter) == matched).all() else rule
        return self._of_observed_kinds(rule, rows, touched)

    def _of_observed_kinds(self, rule: Rule, rows: Integers, touched: Set[str]) -> Rule:
        """Exclude file extensions that many URLs have and no right trial has, such as feeds."""
        column = self.columns.columns.get("ext")
        if column is None or "ext" in touched | rule.context.keys() | rule.absent:
            return rule
        tested = np.unique(column.numbers[rows])
        n_urls = np.bincount(column.numbers[column.numbers >= 0], minlength=len(column.values))
        n_urls[tested[tested >= 0]] = 0
        if not (n_urls >= max(MIN_URLS, KIND_SHARE * len(self.columns))).any() or not len(tested):
            return rule
        if tested[-1] < 0:
            return replace(rule, absent=rule.absent | {"ext"})
        if tested[0] < 0:
            return rule
        return replace(rule, context={**rule.context, "ext": one_of(column.some(tested))})

    def _strange_sections(self, matched: Mask, rows: Integers, known: Set[str]) -> dict[str, Matcher]:
        """Conditions that exclude path parts of many *matched* URLs that none of the tested *rows* has."""
        sections: dict[str, Matcher] = {}
        for key, column in self.columns.columns.items():
            tested = column.numbers[rows]
            if key.startswith("path[") and key not in known and (tested >= 0).all():
                n_urls = np.bincount(column.numbers[matched & (column.numbers >= 0)], minlength=len(column.values))
                n_urls[tested] = 0
                strange = np.flatnonzero(n_urls >= MIN_URLS)
                if len(strange):
                    sections[key] = NoneOf(column.some(strange))
        return sections

    def _tested_sections(self, rows: Integers, known: Set[str]) -> dict[str, Matcher]:
        """A condition that the first path part is one of the tested *rows*, if these are few and not all of the host.

        It also excludes sections that the crawl has not met yet.
        """
        column = self.columns.columns.get("path[0]")
        if column is None or "path[0]" in known:
            return {}
        tested = np.unique(column.numbers[rows])
        if tested[0] < 0 or len(tested) >= FEW_VALUES or np.isin(column.numbers, tested).all():
            return {}
        return {"path[0]": one_of(column.some(tested))}

    def _strange_depths(self, matched: Mask, rows: Integers, known: Set[str]) -> dict[str, Matcher]:
        """A condition that excludes path lengths of *matched* URLs on which the rule was hardly tested."""
        column = self.columns.columns.get("path.length")
        if column is None or "path.length" in known:
            return {}
        n_tested = np.bincount(column.numbers[rows], minlength=len(column.values))
        met = np.unique(column.numbers[matched])
        strange = met[n_tested[met] < MIN_TESTED]
        return {"path.length": NoneOf(column.some(strange))} if len(strange) else {}


def _in_context(rule: Rule, key: str | None, context: Context) -> Rule:
    """Add the conditions of a context to a rule."""
    matchers: dict[str, Matcher] = dict(rule.context)
    absent = set(rule.absent)
    for condition in context.conditions:
        if condition.matcher is None:
            absent.add(condition.key)
        elif condition.key:
            matchers[condition.key] = condition.matcher
    if context.gone_values is not None and key is not None:
        matchers[key] = one_of(context.gone_values)
    return replace(rule, context=matchers, absent=frozenset(absent))
