"""Contexts in which a hypothesis holds, coarse to fine: anywhere, for one value, under one other item, under two.

Sequential covering, as rule learners do it (P. Clark, T. Niblett, "The CN2 induction algorithm", 1989): of all
conditions that make the hypothesis believable the one with most merge groups is taken, its trials are put aside, and
the rest is looked at again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dedup_crawler.rules.judging.belief import MIN_GROUPS, Belief
from dedup_crawler.rules.judging.judge import Evidence
from dedup_crawler.rules.language.rule import ANY, Literal, Matcher, NoneOf, OneOf
from dedup_crawler.rules.learning.columns import Integers, Mask, UrlColumns
from dedup_crawler.rules.learning.hypotheses import Hypothesis
from dedup_crawler.rules.learning.trials import Trials, weighed

MAX_DEPTH = 2
"""Most conditions on other keys in a context."""
FEW_VALUES = 10
"""Least number of compared values of a key, for a rule to be about any value."""
EXPLAINED = 0.5
"""Share of wrong merge groups where a condition does not hold, at least."""
_BEAM = 8  # contexts that hold in part and are refined further
_MAX_FOUND = 200  # of one hypothesis; a site that needs more is better left alone


@dataclass(frozen=True)
class Condition:
    """A matcher for one key; None demands that the key is missing."""

    key: str
    matcher: Matcher | None


@dataclass(frozen=True)
class Context:
    """Context in which a hypothesis holds, and the evidence."""

    conditions: tuple[Condition, ...]
    gone_values: frozenset[str | None] | None
    """Values that go; None for any."""
    evidence: Evidence
    trials: Mask
    is_crowd: bool = False
    """True if these are few groups of many values: its conditions say which, and nothing is known of others."""


@dataclass(frozen=True)
class _Option:
    condition: Condition
    mask: Mask
    weight: float
    wrong: float


class ContextSearch:
    """Finds contexts of one hypothesis.

    Parameters
    ----------
    trials
        Of the hypothesis.
    columns
        What the trials were made from.
    hypothesis
        The keys that it changes cannot be conditions.
    belief
        Decides, and counts what is tried.
    """

    def __init__(self, trials: Trials, columns: UrlColumns, hypothesis: Hypothesis, belief: Belief) -> None:
        self._trials = trials
        self._columns = columns
        touched = hypothesis.touched()
        self._belief = belief
        self._has_values = hypothesis.key is not None
        self._is_exact = hypothesis.is_exact()
        self._copied = [columns.columns[key].numbers[trials.rows] for key in sorted(hypothesis.copied())]
        self._live = np.ones(len(trials), bool)
        self._items = {
            key: column.numbers[trials.rows]
            for key, column in sorted(columns.columns.items())
            if touched is not None and key not in touched
        }
        self._values = {key: columns.columns[key].values for key in self._items}
        self.found: list[Context] = []

    def search(self, depth: int) -> list[Context]:
        """Contexts of at most *depth* conditions on other keys, and at depth 2 single groups of very many values."""
        self._search((), np.ones(len(self._trials), bool), depth)
        if depth == MAX_DEPTH and self._has_values:
            self._find_crowds()
        return self.found

    def _search(self, conditions: tuple[Condition, ...], mask: Mask, depth: int) -> None:
        trials = self._trials
        while len(self.found) < _MAX_FOUND:
            live = mask & self._live
            if (live & trials.is_right).sum() < MIN_GROUPS:
                return
            evidence = trials.evidence(live)
            if self._believed(conditions, live, evidence):
                return
            options = [*self._value_options(live), *(self._item_options(live) if depth else ())]
            if not self._take_best(conditions, live, options):
                break
        if depth > 1:
            for option in self._promising(live, options):
                self._search((*conditions, option.condition), mask & option.mask, depth - 1)

    def _take_best(self, conditions: tuple[Condition, ...], live: Mask, options: list[_Option]) -> bool:
        good = [option for option in options if self._belief.may_hold(option.weight, option.wrong)]
        good.sort(key=lambda option: option.wrong - option.weight)
        for option in good:
            chosen = live & option.mask
            evidence = self._trials.evidence(chosen)
            conditions_now = (*conditions, option.condition)
            if self._explains(live, chosen) and self._believed(conditions_now, chosen, evidence):
                return True
        return False

    def _explains(self, live: Mask, chosen: Mask) -> bool:
        """Return True if the hypothesis is mostly wrong where the condition does not hold.

        A condition that only leaves out the few lists that happen to differ explains nothing, and will not hold
        tomorrow.
        """
        rest = self._trials.evidence(live & ~chosen)
        return rest.n_wrong >= EXPLAINED * rest.n_groups

    def _believed(self, conditions: tuple[Condition, ...], chosen: Mask, evidence: Evidence) -> bool:
        """Take a context if it is believable; where few values were compared, for those alone that were right.

        That one key repeats another is a coincidence where the other has one value only.
        """
        trials = self._trials
        if not self._belief.holds(evidence):
            return False
        if any(len(np.unique(numbers[chosen])) == 1 for numbers in self._copied):
            return False
        gone = np.unique(trials.gone[chosen])
        values = None
        compared = np.union1d(gone, trials.beside[chosen])
        if (compared >= 0).sum() < FEW_VALUES and not self._is_exact:
            if not self._has_values:
                return False
            gone = np.setdiff1d(gone, trials.gone[chosen & ~trials.is_right])
            values = frozenset(trials.gone_values[number] for number in gone.tolist())
            chosen = chosen & np.isin(trials.gone, gone)
            evidence = trials.evidence(chosen)
            if not self._belief.holds(evidence):
                return False
        is_crowd = evidence.n_groups < MIN_GROUPS
        self._take(Context(self._conditions_of(chosen) if is_crowd else conditions, values, evidence, chosen, is_crowd))
        return True

    def _take(self, context: Context) -> None:
        self.found.append(context)
        self._live &= ~context.trials

    def _value_options(self, live: Mask) -> Iterator[_Option]:
        """Options in which one value says as much as no value."""
        if self._has_values:
            compared = live & self._trials.has_base
            for number, weight, wrong in self._counts(self._trials.gone, compared):
                condition = Condition("", Literal(self._trials.gone_values[number]))
                yield _Option(condition, compared & (self._trials.gone == number), weight, wrong)

    def _item_options(self, live: Mask) -> Iterator[_Option]:
        n_live = int(live.sum())
        for key, numbers in self._items.items():
            is_there = numbers >= 0
            for mask, matcher in ((is_there, ANY), (~is_there, None)):
                chosen = live & mask
                if 0 < chosen.sum() < n_live:
                    yield self._option(Condition(key, matcher), mask, chosen)
            for number, weight, wrong in self._counts(numbers, live & is_there):
                mask = numbers == number
                if weight - wrong >= MIN_GROUPS and (live & mask).sum() < n_live:
                    yield _Option(Condition(key, Literal(self._values[key][number])), mask, weight, wrong)
            contradicted = numbers[live & is_there & ~self._trials.is_right]
            if len(contradicted):
                n_wrong_of = np.bincount(contradicted)
                worst = int(n_wrong_of.argmax())
                mask = is_there & (numbers != worst)
                if n_wrong_of[worst] >= MIN_GROUPS and (live & mask).any():
                    others = NoneOf(frozenset({self._values[key][worst]}))
                    yield self._option(Condition(key, others), mask, live & mask)

    def _option(self, condition: Condition, mask: Mask, chosen: Mask) -> _Option:
        return _Option(condition, mask, *self._trials.weigh(chosen))

    def _counts(self, numbers: Integers, chosen: Mask) -> Iterator[tuple[int, float, float]]:
        """Number, weight and wrong weight of each value whose groups weigh enough."""
        if not chosen.any():
            return
        weights, wrong, values = weighed(self._trials.groups, self._trials.is_right, chosen, numbers)
        weight_of = np.bincount(values, weights=weights)
        wrong_of = np.bincount(values, weights=wrong)
        for number in np.flatnonzero(weight_of >= MIN_GROUPS).tolist():
            yield number, float(weight_of[number]), float(wrong_of[number])

    def _promising(self, live: Mask, options: list[_Option]) -> list[_Option]:
        """Conditions under which the hypothesis is right often enough to look further, the best first."""
        is_right = self._trials.is_right
        n_live = int(live.sum())
        rated: list[tuple[float, int, _Option]] = []
        for place, option in enumerate(options):
            chosen = live & option.mask
            n_right, n = int((chosen & is_right).sum()), int(chosen.sum())
            if option.condition.key and MIN_GROUPS <= n_right < n < n_live:
                rated.append((-n_right / math.sqrt(n), place, option))
        return [option for _, _, option in sorted(rated, key=lambda entry: entry[:2])[:_BEAM]]

    def _find_crowds(self) -> None:
        """Single groups in which very many values were seen to make no difference: what goes says nothing there.

        A group is one piece of evidence about other groups, but each of its values is one about the group's own next
        value: nothing is concluded for any other group.
        """
        trials, live = self._trials, self._live
        pairs = np.unique(np.stack([trials.groups[live], trials.gone[live]]), axis=1)
        n_values = np.bincount(pairs[0], minlength=1)
        for group in np.flatnonzero(n_values >= FEW_VALUES).tolist():
            chosen = live & (trials.groups == group)
            n_wrong = int((chosen & ~trials.is_right).sum())
            n_met = int(n_values[group])
            if self._belief.may_hold(n_met, n_wrong):
                evidence = Evidence(n_met, n_wrong, n_met, n_wrong)
                self._take(Context(self._conditions_of(chosen), None, evidence, chosen, is_crowd=True))

    def _conditions_of(self, chosen: Mask) -> tuple[Condition, ...]:
        """All items that some trials were met with, but for those that every URL of the host has."""
        conditions = []
        for key, met in self._items.items():
            numbers = np.unique(met[chosen])
            is_everywhere = len(numbers) == 1 and (self._columns.columns[key].numbers == numbers[0]).all()
            if key == "scheme" or is_everywhere:
                continue
            if numbers[-1] < 0:
                conditions.append(Condition(key, None))
            elif numbers[0] >= 0:
                values = frozenset(self._values[key][number] for number in numbers.tolist())
                conditions.append(Condition(key, Literal(*values) if len(values) == 1 else OneOf(values)))
        return tuple(conditions)
