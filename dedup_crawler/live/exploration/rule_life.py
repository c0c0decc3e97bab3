"""The history of one rule in a crawl: the results of its explorations, and how many more are worth their fetches.

A test costs a fetch. It lowers the expected error of the rule, and so the expected number of pages lost by its drops
(:mod:`dedup_crawler.rules.learning.belief`). Tests go on while the next one saves more than it costs.

The rules of a site were learnt together and change together. If many of them have held, a test of the next one is worth
less (a hierarchical prior: A. Gelman et al., "Bayesian Data Analysis", 2013, chapter 5).

A candidate is tested value by value (:mod:`dedup_crawler.rules.language.identifiers`). Drops with a new value wait
for a right test of that value, until as many values were right as training asks of a rule about any value. The first
wrong value is switched off, and from then on every value needs its test. The second one switches off the candidate.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from scrapy.utils.datatypes import LocalCache

from dedup_crawler.methods.model.evidence_file import RuleCounts
from dedup_crawler.rules.language.statistics import tail
from dedup_crawler.rules.learning.belief import FEW_VALUES, expected_error

MIN_ERROR = 0.02
"""Smallest promised error (share of wrong drops, 0-1) of a rule: a comparison of two pages sometimes errs."""
MAX_ERROR = 0.1
"""Largest promised error (share of wrong drops, 0-1) of a rule, whatever its training says."""
WINDOW = 50
"""Number of latest verdicts that are searched for runs."""
SUSPECTED = 5
"""A wrong verdict among this many latest ones makes the rule suspected."""
HELD = 3
"""Tests in this process that every rule needs; if none is wrong, the rule holds."""
LEVEL = 0.001
"""Probability (0-1) of a false alarm at the first verdict; at the t-th verdict it is LEVEL / t."""
YOUNG_RATE = 0.1
"""Share (0-1) of a rule's drops that is explored at first; half of it after YOUNG tests, a third after 2 YOUNG."""
YOUNG = 10
SUSPECTED_RATE = 0.25
"""Share (0-1) of drops that is explored while one of the latest SUSPECTED verdicts is wrong."""
MAX_UNDECIDED = 20
"""Number of undecided explorations in a row after which a rule is held back."""
FIRST_RATE = 0.99
"""Share (0-1) of a rule's drops that is explored until HELD tests in this process are decided, whatever the earlier
evidence. More are tested while that is worth it (:func:`tests_worth`)."""
MORE_WRONG = 2
"""Multiple of its promised error; a rule whose explorations go wrong more often is not verified."""
COST_OF_LOSS = 20.0
"""Number of fetches that one lost page costs; the project demands more than ten."""
MAX_WRONG_OF_FORM = 4
"""One form counts once for a rule, and up to 4 times against it, which exposes a rule that gives all pages one form."""
MAX_FORMS = 50_000
"""Maximum of remembered pairs of rule and form that have counted; the least recently explored ones are forgotten."""
MAX_TESTS = 50
"""Maximum of further tests of a rule, besides those that every rule needs."""
MAX_VALUES = 20
"""Maximum of values of a candidate that are tested at once; the drops of further values wait for the results."""
MAX_WAITING = 4_000
"""Maximum of drops of a candidate that wait for tests of its values: more would not surely be kept."""
_NO_TESTS = RuleCounts()


class Outcome(NamedTuple):
    """Result of one exploration."""

    is_right: bool
    sharing: tuple[str, ...]
    """The rules that led to the drop together."""


class RuleState(NamedTuple):
    """State of a rule in this crawl."""

    rule: str
    standing: str
    """``verified``, ``being tested``, ``doubted``, ``held back``, ``not tested`` or ``switched off``."""
    n_dropped: int
    """Number of different dropped URLs."""
    n_tested: int
    n_wrong: int


@dataclass(slots=True)
class Life:
    """One rule."""

    training: tuple[int, int] | None = None
    """Merge groups and contradictions in training; None for a rule of no model that this crawl has used."""
    site: str = ""
    n_agreed: int = 0
    n_disagreed: int = 0
    is_switched_off: bool = False
    n_earlier: int = 0
    """Explorations of earlier crawls."""
    foreign: RuleCounts = _NO_TESTS
    """Counts of earlier crawls, or of the other crawlers of this one."""
    is_tested: bool = False
    """True if an exploration of this crawl was decided, also one that it shares with other rules."""
    n_under_way: int = 0
    """Explorations without a verdict yet."""
    n_here: int = 0
    """Explorations with a verdict in this process."""
    n_most: int = 0
    """The most drops so far: whenever a model is learnt, the drops are counted anew."""
    n_until_half: int = 0
    """Explorations in this process before the last but one doubling of the rule's drops."""
    n_until_last: int = 0
    """Explorations in this process before the last doubling of the rule's drops."""
    n_wrong: int = 0
    """Explorations that went wrong, or probably did."""
    n_learnt_from: int = 0
    """Merge groups among this crawl's own pages from which the rule was learnt, without those that tests have made."""
    n_undecided: int = 0
    """Explorations since the last decided one, including those whose verdict is still to come."""
    is_passed_on: bool = False
    """True if another rule has these tests as well, and counts instead of this one."""
    recent: deque[Outcome] = field(default_factory=lambda: deque(maxlen=WINDOW))

    def begin_with(self, counts: RuleCounts) -> None:
        """Start from the counts of earlier processes."""
        self.foreign = counts
        self.n_agreed, self.n_disagreed, self.is_switched_off = counts
        self.n_earlier, self.n_wrong = self.n_agreed + self.n_disagreed, self.n_disagreed

    def passed_on(self) -> Life:
        """Return the life of a rule that takes over all tests; this one no longer counts as a rule that holds."""
        self.is_passed_on = True
        return replace(self, is_passed_on=False, n_under_way=0, recent=self.recent.copy())

    @property
    def n_explored(self) -> int:
        """All explorations, including repeated ones of a form."""
        return self.n_earlier + self.n_here

    @property
    def promised_error(self) -> float:
        """The share (0-1) of wrong drops that the rule promises not to exceed."""
        n_groups, n_wrong = self.training or (0, 0)
        return min(MAX_ERROR, max(MIN_ERROR, n_wrong / n_groups if n_groups > 0 else 0.0))

    @property
    def expected_error(self) -> float:
        """The expected share (0-1) of wrong drops, by all evidence."""
        n_groups, n_wrong = self.training or (0, 0)
        return expected_error(n_groups + self.n_agreed + self.n_disagreed, n_wrong + self.n_disagreed)

    @property
    def is_doubted(self) -> bool:
        """Return True if the rule is not switched off, but has been wrong, and breaks its promise."""
        if self.is_switched_off or not self.n_disagreed:
            return False
        return self.expected_error > self.promised_error or self.suspicion() > 1

    def counts(self) -> RuleCounts:
        """Return the counts to save."""
        return RuleCounts(self.n_agreed, self.n_disagreed, self.is_switched_off)

    def own_counts(self) -> RuleCounts:
        """Return the counts of this process alone."""
        n_agreed, n_disagreed, _ = self.foreign
        # wrong ones may have been taken back
        return RuleCounts(self.n_agreed - n_agreed, max(0, self.n_disagreed - n_disagreed), self.is_switched_off)

    def take_in(self, others: RuleCounts) -> bool:
        """Take in the tests of the other crawlers; return True if there are new ones."""
        n_agreed = max(0, others.n_agreed - self.foreign.n_agreed)
        n_disagreed = max(0, others.n_disagreed - self.foreign.n_disagreed)
        self.n_agreed += n_agreed
        self.n_disagreed += n_disagreed
        self.n_wrong += n_disagreed
        self.n_here += n_agreed + n_disagreed
        self.foreign = RuleCounts(self.foreign.n_agreed + n_agreed, self.foreign.n_disagreed + n_disagreed)
        return n_agreed + n_disagreed > 0

    def dropped(self, n_dropped: int) -> None:
        """Note that the rule has dropped *n_dropped* requests."""
        if n_dropped > self.n_most:
            self.n_most = n_dropped
            if n_dropped & (n_dropped - 1) == 0:  # a power of two
                self.n_until_half, self.n_until_last = self.n_until_last, self.n_here

    def runs(self) -> Iterator[tuple[int, int]]:
        """Yield wrong and all verdicts of each run from a wrong one to the latest, and those of the whole life."""
        n_wrong = 0
        for n, verdict in enumerate(reversed(self.recent), 1):
            if not verdict.is_right:
                n_wrong += 1
                yield n_wrong, n
        if self.n_disagreed:
            yield self.n_disagreed, self.n_agreed + self.n_disagreed

    def is_held(self) -> bool:
        """Return True after too many undecided explorations in a row."""
        return self.n_undecided >= MAX_UNDECIDED

    def rate(self, epsilon: float) -> float:
        """Return the share (0-1) of drops to explore; *epsilon* is that of a well-tested rule."""
        if self.is_held():
            return 1.0
        if self.n_here + self.n_under_way < HELD:
            return max(epsilon, FIRST_RATE)
        rate = YOUNG_RATE * YOUNG / (YOUNG + self.n_explored + self.n_under_way + self.n_learnt_from)
        return max(epsilon, rate, SUSPECTED_RATE if self._n_lacking() else 0.0)

    def suspicion(self) -> float:
        """Return the significance level by the p-value of the verdicts under the promise; above 1 the rule fails."""
        chance = min((tail(n_wrong, n, self.promised_error) for n_wrong, n in self.runs()), default=1.0)
        return LEVEL / (max(1, self.n_agreed + self.n_disagreed) * max(chance, 1e-300))

    def n_missing(self, n_dropped: int, share: float) -> int:
        """Return the number of further tests that the rule needs; for *share* see :func:`tests_worth`."""
        n_wanted = math.ceil(self.n_wrong / (MORE_WRONG * self.promised_error))
        # the site may have changed since training, and since the first tests
        n_late = self.n_here - self.n_until_half
        if self.n_wrong:
            n_worth = tests_worth(n_late, min(self.n_wrong, n_late), n_dropped, share)
        else:
            n_worth = tests_worth(n_late + self.n_learnt_from, 0, n_dropped, share)
            n_worth = min(n_worth, max(0, MAX_TESTS - self.n_here))
        return max(int(self.is_doubted), HELD - self.n_here, n_worth, n_wanted - self.n_explored, self._n_lacking())

    def _n_lacking(self) -> int:
        """Return the number of right verdicts that are missing after a wrong one; 0 if the latest are all right."""
        latest = islice(reversed(self.recent), SUSPECTED)
        return next((SUSPECTED - n for n, verdict in enumerate(latest) if not verdict.is_right), 0)

    def has_held(self) -> bool:
        """Return True if this process has tested the rule, and no test was ever wrong."""
        return self.n_here >= HELD and not (self.is_switched_off or self.n_wrong or self.is_passed_on)

    def has_failed(self) -> bool:
        """Return True if this process has tested the rule, and it was wrong now or earlier."""
        return self.n_here > 0 and (self.is_switched_off or self.n_wrong > 0)


class ValueLives(dict[str, Life]):
    """The values of one candidate, each with its life."""

    def has_wrong(self) -> bool:
        """Return True if a value was switched off."""
        return any(life.is_switched_off for life in self.values())

    def lacks_test(self, value: str) -> bool:
        """Return True if a value needs a right test."""
        if value in self and self[value].n_agreed:
            return False
        return sum(life.n_agreed > 0 for life in self.values()) < FEW_VALUES or self.has_wrong()

    def rate(self, value: str, n_dropped: int, epsilon: float) -> float:
        """Return the share (0-1) of drops to explore; the candidate has *n_dropped* in all."""
        if not self.lacks_test(value):
            return epsilon
        if n_dropped >= MAX_WAITING:
            return 1.0
        is_tested = value in self and self[value].n_under_way > 0
        n_under_way = sum(life.n_under_way > 0 for life in self.values())
        return max(epsilon, FIRST_RATE) if not is_tested and n_under_way < MAX_VALUES else epsilon


class Speakers:
    """Decides whether the verdict about a form counts: a form speaks once for a rule, and a few times against it."""

    def __init__(self) -> None:
        # (rule, form) -> wrong verdicts that counted
        self._spoken: LocalCache[tuple[str, bytes], int] = LocalCache(MAX_FORMS)

    def has_spoken(self, rule: str, form_digest: bytes) -> bool:
        """Return True if a verdict about the form has counted."""
        return (rule, form_digest) in self._spoken

    def may_speak(self, rule: str, form_digest: bytes, is_same: bool) -> bool:
        """Return True if the verdict counts; note that it has."""
        key = rule, form_digest
        n_wrong = self._spoken.get(key)
        if n_wrong is not None and (is_same or n_wrong >= MAX_WRONG_OF_FORM):
            return False
        self._spoken[key] = (n_wrong or 0) + (not is_same)
        self._spoken.move_to_end(key)
        return True


def share_that_holds(n_held: int, n_failed: int) -> float:
    """Return the expected share (0-1) of a site's rules that hold, after *n_held* have held and *n_failed* have failed.

    >>> share_that_holds(0, 0), share_that_holds(8, 0)
    (0.5, 0.9)
    """
    return (1 + n_held) / (2 + n_held + n_failed)


def tests_worth(n_tested: int, n_wrong: int, n_dropped: int, share: float) -> int:
    """Return the number of further tests that are worth it, at most :data:`MAX_TESTS`.

    *n_wrong* of *n_tested* earlier tests went wrong. The rule has dropped *n_dropped* requests; for *share* see
    :func:`share_that_holds`.

    >>> tests_worth(0, 0, 8, 0.5), tests_worth(0, 0, 64, 0.5), tests_worth(0, 0, 512, 0.5), tests_worth(20, 0, 512, 0.5)
    (5, 12, 26, 6)
    >>> tests_worth(0, 0, 8, 0.9), tests_worth(0, 0, 64, 0.9), tests_worth(0, 0, 512, 0.9)
    (2, 5, 12)
    """
    return _tests_worth(n_tested, n_wrong, 1 << max(0, n_dropped - 1).bit_length(), share)


@lru_cache(10_000)
def _tests_worth(n_tested: int, n_wrong: int, n_dropped: int, share: float) -> int:
    expected = expected_error(n_tested, n_wrong, share)
    for n in range(MAX_TESTS):
        after = expected_error(n_tested + n + 1, n_wrong, share)
        if COST_OF_LOSS * n_dropped * (expected - after) < 1:
            return n
        expected = after
    return MAX_TESTS
