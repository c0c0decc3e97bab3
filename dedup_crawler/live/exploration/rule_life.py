"""The life of one rule in a crawl: what its explorations have shown, and when."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from dedup_crawler.methods.model.evidence_file import RuleCounts

WINDOW = 50
"""Number of latest trials in which runs are looked for."""
SUSPECTED = 5
"""Number of latest trials of which a wrong one makes the rule suspected."""
HELD = 3
"""Tests of this process that every rule needs; without a wrong one it counts as one that holds."""


class Trial(NamedTuple):
    """One exploration."""

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
    """Explorations, those of forms that were explored before included."""
    n_under_way: int = 0
    """Explorations that were begun and have no verdict yet."""
    n_here: int = 0
    """Explorations with a verdict in this process."""
    n_until_half: int = 0
    """Explorations in this process before the last but one doubling of the rule's drops."""
    n_until_last: int = 0
    """Explorations in this process before the last doubling of the rule's drops."""
    n_wrong: int = 0
    """Explorations that went wrong, or seemed to."""
    n_undecided: int = 0
    """Explorations since the last one that was decided, those included whose verdict is still to come."""
    recent: deque[Trial] = field(default_factory=lambda: deque(maxlen=WINDOW))

    @classmethod
    def of(cls, counts: RuleCounts) -> Life:
        """Go on from the counts of earlier processes."""
        n_agreed, n_disagreed, is_switched_off = counts
        return cls(n_agreed, n_disagreed, is_switched_off, n_agreed + n_disagreed, n_wrong=n_disagreed)

    def runs(self) -> Iterator[tuple[int, int]]:
        """Wrong trials and trials of each run that ends now and starts with a wrong one, and of the whole life."""
        n_wrong = 0
        for n, trial in enumerate(reversed(self.recent), 1):
            if not trial.is_right:
                n_wrong += 1
                yield n_wrong, n
        if self.n_disagreed:
            yield self.n_disagreed, self.n_agreed + self.n_disagreed

    def has_held(self) -> bool:
        """Return True if this process has tested the rule, and was never told that it is wrong."""
        return self.n_here >= HELD and not (self.is_switched_off or self.n_wrong)

    def has_failed(self) -> bool:
        """Return True if this process has tested the rule, which was wrong here or before."""
        return self.n_here > 0 and (self.is_switched_off or self.n_wrong > 0)

    def is_suspected(self) -> bool:
        """Return True if one of the last trials went wrong."""
        return any(not trial.is_right for trial in list(self.recent)[-SUSPECTED:])
