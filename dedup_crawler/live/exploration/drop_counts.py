"""Counts of the URLs that each rule has dropped, and of the drops that are not verified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from dedup_crawler.rules.language.identifiers import is_value

MAX_SETS = 10_000
"""Sets of rules that are counted separately; drops by later sets are counted without rules."""


class Verdicts(NamedTuple):
    """Drops that were not fetched, and the explorations for and against them."""

    n_tested: int
    """Drops by rules that each have a decided exploration."""
    n_untested: int
    """All other drops, and unsent drops of rules that were switched off."""
    n_right: int
    n_wrong: int


class DropCounts:
    """Counts of drops and decided explorations, by the set of rules that led to them."""

    def __init__(self) -> None:
        self._n_dropped: Counter[tuple[str, ...]] = Counter()
        self._n_right: Counter[tuple[str, ...]] = Counter()
        self._n_wrong: Counter[tuple[str, ...]] = Counter()
        self._by_rule: Counter[str] = Counter()
        self._heirs: dict[str, str] = {}  # rule -> rule of an earlier model whose tests speak for it, the oldest first
        self.n_taken_back = 0
        """Number of dropped requests that were sent after all."""

    def dropped(self, rules: tuple[str, ...], n: int = 1) -> None:
        """Count *n* dropped URLs; -1 takes one back."""
        self._n_dropped[self._counted(rules)] += n
        for rule in rules:
            self._by_rule[rule] += n

    def taken_back(self, rules: tuple[str, ...], *, is_sent: bool) -> None:
        """Take back a dropped request: it is sent after all, or a new model decides about it anew."""
        self.dropped(rules, -1)
        self.n_taken_back += is_sent

    def of(self, rule: str) -> int:
        """Return the drops of one rule, without those that were sent after all."""
        return max(0, self._by_rule[rule])

    def explored(self, rules: tuple[str, ...], *, is_same: bool) -> None:
        """Count a decided exploration."""
        rules = self._counted(rules)
        self._n_dropped[rules] += 0
        (self._n_right if is_same else self._n_wrong)[rules] += 1

    def passed_on(self, tested: str, rule: str) -> None:
        """Count *rule* as tested if *tested* is: it does the same in another context."""
        self._heirs[rule] = tested

    def by_rule(self) -> Counter[str]:
        """Return the drops by rule, without those sent after all; a drop counts for each of its rules."""
        return Counter({rule: n for rule, n in self._by_rule.items() if n > 0 and not is_value(rule)})

    def values(self) -> set[str]:
        """Return the names of the dropped values of candidates."""
        return {rule for rule, n in self._by_rule.items() if n > 0 and is_value(rule)}

    def untested_rules(self) -> set[str]:
        """Return the rules with drops and without a decided exploration."""
        return set(self.by_rule()) - self._tested()

    def verdicts(self, off: Collection[str] = ()) -> Verdicts:
        """Sum up the counts; explorations of the switched-off rules *off* do not count."""
        n_tested = n_untested = n_right = n_wrong = 0
        tested = self._tested()
        for rules, n_dropped in self._n_dropped.items():
            right, wrong = self._n_right[rules], self._n_wrong[rules]
            of_rules = [rule for rule in rules if not is_value(rule)]
            is_tested = tested.issuperset(of_rules) if rules else right + wrong > 0
            if is_tested and not any(rule in off for rule in rules):
                n_tested += n_dropped
                n_right += right
                n_wrong += wrong
            else:
                n_untested += n_dropped
        return Verdicts(n_tested, max(0, n_untested), n_right, n_wrong)

    def _tested(self) -> set[str]:
        tested = {rule for rules in [*self._n_right, *self._n_wrong] for rule in rules}
        for rule, earlier in self._heirs.items():
            if earlier in tested:
                tested.add(rule)
        return tested

    def _counted(self, rules: tuple[str, ...]) -> tuple[str, ...]:
        is_counted = rules in self._n_dropped or len(self._n_dropped) < MAX_SETS
        return rules if is_counted else ()
