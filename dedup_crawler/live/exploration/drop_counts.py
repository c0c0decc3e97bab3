"""Counts of the URLs that each rule has dropped, and of the drops that are not verified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

MAX_SETS = 10_000
"""Sets of rules that are counted separately; drops by later sets are counted without rules."""


@dataclass(slots=True)
class _Drops:
    n_dropped: int = 0
    n_right: int = 0
    n_wrong: int = 0


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
        self._of: dict[tuple[str, ...], _Drops] = {}
        self._by_rule: Counter[str] = Counter()
        self.n_taken_back = 0
        """Number of dropped requests that were sent after all."""

    def dropped(self, rules: tuple[str, ...], n: int = 1) -> None:
        """Count *n* dropped URLs; -1 takes one back."""
        (self._of.get(rules) or self._new(rules)).n_dropped += n
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
        drops = self._of.get(rules) or self._new(rules)
        drops.n_right += is_same
        drops.n_wrong += not is_same

    def by_rule(self) -> Counter[str]:
        """Return the drops by rule, without those sent after all; a drop counts for each of its rules."""
        return +self._by_rule

    def untested_rules(self) -> set[str]:
        """Return the rules with drops and without a decided exploration."""
        return set(self.by_rule()) - self._tested()

    def verdicts(self, off: Collection[str] = ()) -> Verdicts:
        """Sum up the counts; explorations of the switched-off rules *off* do not count."""
        n_tested = n_untested = n_right = n_wrong = 0
        tested = self._tested()
        for rules, drops in self._of.items():
            is_tested = tested.issuperset(rules) if rules else drops.n_right + drops.n_wrong > 0
            if is_tested and not any(rule in off for rule in rules):
                n_tested += drops.n_dropped
                n_right += drops.n_right
                n_wrong += drops.n_wrong
            else:
                n_untested += drops.n_dropped
        return Verdicts(n_tested, max(0, n_untested), n_right, n_wrong)

    def _tested(self) -> set[str]:
        return {rule for rules, drops in self._of.items() if drops.n_right + drops.n_wrong for rule in rules}

    def _new(self, rules: tuple[str, ...]) -> _Drops:
        return self._of.setdefault(rules if len(self._of) < MAX_SETS else (), _Drops())
