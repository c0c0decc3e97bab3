"""Tests of candidates value by value.

Drops with a new value wait for a right test of that value, until as many values were right as training asks of a rule
about any value. The first wrong value is switched off, and from then on every value needs its test. The second one
switches off the candidate (:mod:`dedup_crawler.rules.language.identifiers`).
"""

from __future__ import annotations

from collections import defaultdict

from dedup_crawler.live.exploration.rule_life import FIRST_RATE, Life
from dedup_crawler.rules.language.identifiers import rule_of
from dedup_crawler.rules.learning.belief import FEW_VALUES

MAX_VALUES = 20
"""Maximum of values of a candidate that are tested at once; the drops of further values wait for the results."""
MAX_WAITING = 4_000
"""Maximum of drops of a candidate that wait for tests of its values: more would not surely be kept."""


class ValueTests:
    """The values of each candidate, with their lives."""

    def __init__(self) -> None:
        self._of: defaultdict[str, dict[str, Life]] = defaultdict(dict)  # candidate -> value -> its life

    def add(self, value: str, life: Life) -> None:
        """Add a value that was not met before."""
        self._of[rule_of(value)][value] = life

    def has_wrong(self, candidate: str) -> bool:
        """Return True if a value of a candidate was switched off."""
        return any(life.is_switched_off for life in self._of[candidate].values())

    def lacks_test(self, value: str) -> bool:
        """Return True if a value needs a right test."""
        candidate = rule_of(value)
        values = self._of[candidate]
        if value in values and values[value].n_agreed:
            return False
        return sum(life.n_agreed > 0 for life in values.values()) < FEW_VALUES or self.has_wrong(candidate)

    def rate(self, value: str, n_dropped: int, epsilon: float) -> float:
        """Return the share (0-1) of drops to explore; the candidate has *n_dropped* in all."""
        if not self.lacks_test(value):
            return epsilon
        if n_dropped >= MAX_WAITING:
            return 1.0
        values = self._of[rule_of(value)]
        is_tested = value in values and values[value].n_under_way > 0
        n_under_way = sum(life.n_under_way > 0 for life in values.values())
        return max(epsilon, FIRST_RATE) if not is_tested and n_under_way < MAX_VALUES else epsilon
