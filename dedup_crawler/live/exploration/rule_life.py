"""The history of one rule in a crawl: the results of its explorations."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from dedup_crawler.methods.model.evidence_file import RuleCounts

WINDOW = 50
"""Number of latest verdicts that are searched for runs."""
SUSPECTED = 5
"""A wrong verdict among this many latest ones makes the rule suspected."""
HELD = 3
"""Tests in this process that every rule needs; if none is wrong, the rule holds."""


class Verdict(NamedTuple):
    """Result of one exploration."""

    is_right: bool
    sharing: tuple[str, ...]
    """The rules that led to the drop together."""


@dataclass(slots=True)
class Life:
    """One rule."""

    n_agreed: int
    n_disagreed: int
    is_switched_off: bool
    n_explored: int
    """All explorations, including repeated ones of a form."""
    foreign: RuleCounts
    """Counts of earlier crawls, or of the other crawlers of this one."""
    n_under_way: int = 0
    """Explorations without a verdict yet."""
    n_here: int = 0
    """Explorations with a verdict in this process."""
    n_until_half: int = 0
    """Explorations in this process before the last but one doubling of the rule's drops."""
    n_until_last: int = 0
    """Explorations in this process before the last doubling of the rule's drops."""
    n_wrong: int = 0
    """Explorations that went wrong, or probably did."""
    n_undecided: int = 0
    """Explorations since the last decided one, including those whose verdict is still to come."""
    recent: deque[Verdict] = field(default_factory=lambda: deque(maxlen=WINDOW))

    @classmethod
    def of(cls, counts: RuleCounts) -> Life:
        """Start from the counts of earlier processes."""
        n_agreed, n_disagreed, is_switched_off = counts
        return cls(n_agreed, n_disagreed, is_switched_off, n_agreed + n_disagreed, counts, n_wrong=n_disagreed)

    def counts(self) -> RuleCounts:
        """Return the counts to save."""
        return RuleCounts(self.n_agreed, self.n_disagreed, self.is_switched_off)

    def own_counts(self) -> RuleCounts:
        """Return the counts of this process alone."""
        n_agreed, n_disagreed, _ = self.foreign
        return RuleCounts(
            max(0, self.n_agreed - n_agreed), max(0, self.n_disagreed - n_disagreed), self.is_switched_off
        )

    def take_in(self, others: RuleCounts) -> bool:
        """Take in the tests of the other crawlers; return True if there are new ones."""
        n_agreed = max(0, others.n_agreed - self.foreign.n_agreed)
        n_disagreed = max(0, others.n_disagreed - self.foreign.n_disagreed)
        self.n_agreed += n_agreed
        self.n_disagreed += n_disagreed
        self.n_wrong += n_disagreed
        self.n_here += n_agreed + n_disagreed
        self.n_explored += n_agreed + n_disagreed
        self.foreign = RuleCounts(self.foreign.n_agreed + n_agreed, self.foreign.n_disagreed + n_disagreed)
        return n_agreed + n_disagreed > 0

    def runs(self) -> Iterator[tuple[int, int]]:
        """Yield wrong and all verdicts of each run from a wrong one to the latest, and those of the whole life."""
        n_wrong = 0
        for n, verdict in enumerate(reversed(self.recent), 1):
            if not verdict.is_right:
                n_wrong += 1
                yield n_wrong, n
        if self.n_disagreed:
            yield self.n_disagreed, self.n_agreed + self.n_disagreed

    def has_held(self) -> bool:
        """Return True if this process has tested the rule, and no test was ever wrong."""
        return self.n_here >= HELD and not (self.is_switched_off or self.n_wrong)

    def has_failed(self) -> bool:
        """Return True if this process has tested the rule, and it was wrong now or earlier."""
        return self.n_here > 0 and (self.is_switched_off or self.n_wrong > 0)

    def is_suspected(self) -> bool:
        """Return True if one of the latest verdicts went wrong."""
        return any(not verdict.is_right for verdict in list(self.recent)[-SUSPECTED:])
