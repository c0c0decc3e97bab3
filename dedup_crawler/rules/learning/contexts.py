"""Finds the contexts in which a hypothesis holds, coarse to fine: anywhere, for one value, or with a few conditions.

The search is sequential covering (P. Clark, T. Niblett, "The CN2 induction algorithm", 1989). Of all conditions with
which the hypothesis is believed, it takes the one with most right merge groups. Then it removes the trials of that
context and goes on with the rest.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dedup_crawler.rules.language.matchers import ANY, Literal, Matcher, NoneOf, one_of
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.learning.belief import FEW_VALUES, MIN_GROUPS, Belief, Evidence
from dedup_crawler.rules.learning.columns import Integers, Mask, UrlColumns
from dedup_crawler.rules.learning.hypotheses import Hypothesis
from dedup_crawler.rules.learning.trials import Trials, weighed

EXPLAINED = 0.9
"""Smallest share (0-1) of wrong groups where a key that shows excerpts matters, if conditions tell where that is."""
MIN_MIXED = 3
"""Smallest number of right groups there that contradict this: fewer may be chance."""
MAX_DEPTH = 2
"""Most conditions on other keys in a context."""
_BEAM = 8  # conditions that are refined further
_MAX_COMPARED = 200  # wrong trials of a hypothesis whose pages may be excerpts
_MAX_FOUND = 200  # contexts of one hypothesis
_FEW = f"it is about all values, and fewer than {FEW_VALUES} of them were compared"


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
    """Values that the rule removes; None for any value."""
    evidence: Evidence
    trials: Mask
    """Mask of the trials in this context, (trials,)."""
    is_crowd: bool = False
    """True if the context is a few groups with many values each. Its conditions describe only these groups."""
    matters_elsewhere: bool = False
    """True if one of the few removed values makes a difference outside of the context."""


@dataclass(frozen=True)
class _Option:
    condition: Condition
    mask: Mask
    weight: float
    wrong: float


class ContextSearch:
    """Finds the contexts of one hypothesis. *belief* decides about each.

    Keys that it changes cannot be conditions, and a substring rule has no conditions.
    """

    def __init__(self, trials: Trials, columns: UrlColumns, hypothesis: Hypothesis, belief: Belief) -> None:
        self._trials = trials
        self._columns = columns
        touched = hypothesis.touched()
        self._belief = belief
        self._has_values = hypothesis.key is not None
        self._is_exact = hypothesis.is_exact()
        self._dropped = hypothesis.dropped()
        self._copied = [columns.columns[key].numbers[trials.rows] for key in sorted(hypothesis.copied())]
        self._live = np.ones(len(trials), bool)
        self._items = {
            key: column.numbers[trials.rows]
            for key, column in sorted(columns.columns.items())
            if isinstance(hypothesis.rule, Rule) and key not in touched
        }
        self._is_told_by = functools.cache(self._tells_excerpts)
        self.found: list[Context] = []
        self.candidates: list[Context] = []
        """Found contexts without the restriction to few values: nobody knows if other values matter."""
        self.doubt = ""
        """Why the first context with enough evidence was not taken; empty if all were."""

    def search(self, depth: int) -> list[Context]:
        """Contexts of at most *depth* conditions on other keys; at the largest depth also groups of many values."""
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
        good = [option for option in options if self._belief.holds(option.weight, option.wrong)]
        for option in sorted(good, key=lambda option: option.wrong - option.weight):
            chosen = live & option.mask
            if self._believed((*conditions, option.condition), chosen, self._trials.evidence(chosen)):
                return True
        return False

    def _believed(self, conditions: tuple[Condition, ...], chosen: Mask, evidence: Evidence) -> bool:
        """Take a context if it is believed. If few values were compared, only take those that were never wrong.

        A copied key must have several values: with a single value, two keys agree by chance.
        """
        trials = self._trials
        if not self._belief.holds(evidence.weight, evidence.wrong_weight):
            return False
        if any(len(np.unique(numbers[chosen])) == 1 for numbers in self._copied):
            return self._doubt("two keys agree in a single value, which may be chance")
        if not self._is_explained(conditions):
            return self._doubt("a page may show more with this key, and no section of the site tells where")
        gone = np.unique(trials.gone[chosen])
        values = None
        is_never_wrong = evidence.n_wrong == 0
        compared = np.union1d(gone, trials.beside[chosen])
        if (compared >= 0).sum() < FEW_VALUES and not self._is_exact:
            if not self._has_values:
                return self._doubt(_FEW)
            compared = np.setdiff1d(compared, trials.gone[chosen & ~trials.is_right])
            if not np.isin(trials.gone[~trials.is_right], compared).all():  # other values matter
                compared = np.intersect1d(compared, self._believed_alone(chosen))
            values = frozenset(trials.gone_values[number] for number in compared.tolist() if number >= 0)
            gone = np.intersect1d(gone, compared)
            chosen = chosen & np.isin(trials.gone, gone) & np.isin(trials.beside, [-1, *compared])
            evidence = trials.evidence(chosen)
            if not self._belief.holds(evidence.weight, evidence.wrong_weight):
                return self._doubt(_FEW)
        if values is None and not self._is_exact and any(self._is_one_for_each(key, chosen) for key in self._dropped):
            return self._doubt("its values tell pages apart elsewhere, and hardly any page was met with two of them")
        is_crowd = evidence.n_groups < MIN_GROUPS
        matters = values is not None and bool((~trials.is_right & ~chosen & np.isin(trials.gone, gone)).any())
        its = self._conditions_of(chosen) if is_crowd else conditions
        context = Context(its, values, evidence, chosen, is_crowd, matters)
        self._take(context)
        if values is not None and is_never_wrong and all(condition.key for condition in conditions):
            self.candidates.append(replace(context, gone_values=None))
        return True

    def _doubt(self, reason: str) -> bool:
        self.doubt = self.doubt or reason
        return False

    def _is_explained(self, conditions: tuple[Condition, ...]) -> bool:
        """Return False if the key shows excerpts, and *conditions* do not tell where it matters.

        The limit of a list matters if the list is longer. A section in which it never mattered has short lists so far,
        if in other sections some are short and some are long. A section whose program ignores the limit is another
        case: in the others it nearly always matters.
        """
        keys = tuple([condition.key for condition in conditions if condition.key])
        if not keys or self._trials.is_right.all() or not self._shows_excerpts or self._is_told_by(keys):
            return True
        self._belief.excerpts.update(self._dropped)
        return False

    def _tells_excerpts(self, keys: tuple[str, ...]) -> bool:
        """Return True unless many groups are right although others with the same values of *keys* are wrong."""
        met = np.unique(np.stack([self._items[key] for key in keys]), axis=1, return_inverse=True)[1]  # (trials,)
        evidence = self._trials.evidence(np.isin(met, met[~self._trials.is_right]))
        n_right = evidence.n_groups - evidence.n_wrong
        return n_right < MIN_MIXED or evidence.n_wrong >= EXPLAINED * evidence.n_groups

    @functools.cached_property
    def _shows_excerpts(self) -> bool:
        """True if in most wrong trials one page is an excerpt of the other."""
        trials, columns = self._trials, self._columns
        if columns.evidence is None:
            return False
        wrong = np.flatnonzero(~trials.is_right)[:_MAX_COMPARED]
        pairs = zip(columns.first[trials.references[wrong]], columns.first[trials.rows[wrong]], strict=True)
        return 2 * sum(columns.evidence.is_excerpt(int(one), int(other)) for one, other in pairs) > len(wrong)

    def _is_one_for_each(self, key: str, chosen: Mask) -> bool:
        """Return True if the values of a dropped key matter elsewhere, and hardly any group has two of them.

        A repository shows its files as ``tip`` and as the newest revision. A hundred repositories say nothing of older
        revisions, if revisions tell pages apart elsewhere.
        """
        trials, right = self._trials, chosen & self._trials.is_right
        numbers = self._columns.columns[key].numbers  # (rows,)
        pairs = np.unique(np.stack([trials.groups[right], numbers[trials.rows[right]]]), axis=1)
        n_further = pairs.shape[1] - len(np.unique(pairs[0]))
        is_telling = np.isin(numbers, [*self._columns.telling.get(key, ())])  # (rows,)
        n_telling = (is_telling[trials.rows[right]] | is_telling[trials.references[right]]).sum()
        return n_further < MIN_GROUPS and bool(2 * n_telling > right.sum())

    def _believed_alone(self, chosen: Mask) -> list[int]:
        """Removed values that are each believed by their own groups, whatever those of other values say."""
        counts = self._counts(self._trials.gone, chosen)
        return [number for number, weight, wrong in counts if self._belief.holds(weight, wrong)]

    def _take(self, context: Context) -> None:
        self.found.append(context)
        self._live &= ~context.trials

    def _value_options(self, live: Mask) -> Iterator[_Option]:
        """Options for one value that the hypothesis removes, where the reference of the group has no value."""
        if self._has_values:
            compared = live & self._trials.has_base
            for number, weight, wrong in self._counts(self._trials.gone, compared):
                condition = Condition("", Literal(self._trials.gone_values[number]))
                yield _Option(condition, compared & (self._trials.gone == number), weight, wrong)

    def _item_options(self, live: Mask) -> Iterator[_Option]:
        n_live = int(live.sum())
        for key, numbers in self._items.items():
            values = self._columns.columns[key].values
            is_there = numbers >= 0
            for mask, matcher in ((is_there, ANY), (~is_there, None)):
                chosen = live & mask
                if 0 < chosen.sum() < n_live:
                    yield self._option(Condition(key, matcher), mask, chosen)
            for number, weight, wrong in self._counts(numbers, live & is_there):
                mask = numbers == number
                if weight - wrong >= MIN_GROUPS and (live & mask).sum() < n_live:
                    yield _Option(Condition(key, Literal(values[number])), mask, weight, wrong)
            contradicted = numbers[live & is_there & ~self._trials.is_right]
            if len(contradicted):
                n_wrong_of = np.bincount(contradicted)
                worst = int(n_wrong_of.argmax())
                mask = is_there & (numbers != worst)
                if n_wrong_of[worst] >= MIN_GROUPS and (live & mask).any():
                    yield self._option(Condition(key, NoneOf(frozenset({values[worst]}))), mask, live & mask)

    def _option(self, condition: Condition, mask: Mask, chosen: Mask) -> _Option:
        return _Option(condition, mask, *self._trials.weigh(chosen))

    def _counts(self, numbers: Integers, chosen: Mask) -> Iterator[tuple[int, float, float]]:
        """Number, weight and wrong weight of each value with enough weight."""
        if not chosen.any():
            return
        weights, wrong, values = weighed(self._trials.units, self._trials.is_right, chosen, numbers)
        weight_of = np.bincount(values, weights=weights)
        wrong_of = np.bincount(values, weights=wrong)
        for number in np.flatnonzero(weight_of >= MIN_GROUPS).tolist():
            yield number, float(weight_of[number]), float(wrong_of[number])

    def _promising(self, live: Mask, options: list[_Option]) -> list[_Option]:
        """Conditions that are worth refining, because the hypothesis is often right under them, the best first."""
        is_right = self._trials.is_right
        n_live = int(live.sum())
        rated: list[tuple[float, _Option]] = []
        for option in options:
            chosen = live & option.mask
            n_right, n = int((chosen & is_right).sum()), int(chosen.sum())
            if option.condition.key and MIN_GROUPS <= n_right < n < n_live:
                rated.append((n_right / math.sqrt(n), option))
        return [option for _, option in sorted(rated, key=lambda entry: -entry[0])[:_BEAM]]

    def _find_crowds(self) -> None:
        """Take single groups in which very many values made no difference.

        Each value is evidence about the next value of the same group, but not about other groups.
        """
        trials, live = self._trials, self._live
        pairs = np.unique(np.stack([trials.groups[live], trials.gone[live]]), axis=1)
        n_values = np.bincount(pairs[0], minlength=1)
        for group in np.flatnonzero(n_values >= FEW_VALUES).tolist():
            chosen = live & (trials.groups == group)
            n_wrong = len(np.unique(trials.gone[chosen & ~trials.is_right]))  # several trials may share a value
            n_met = int(n_values[group])
            if self._belief.holds(n_met, n_wrong):
                evidence = Evidence(n_met, n_wrong, n_met, n_wrong)
                self._take(Context(self._conditions_of(chosen), None, evidence, chosen, is_crowd=True))

    def _conditions_of(self, chosen: Mask) -> tuple[Condition, ...]:
        """Conditions for all items that the *chosen* trials have in common, except those of every URL of the host."""
        conditions = []
        for key, met in self._items.items():
            column = self._columns.columns[key]
            numbers = np.unique(met[chosen])
            is_everywhere = len(numbers) == 1 and (column.numbers == numbers[0]).all()
            if key == "scheme" or is_everywhere:
                continue
            if numbers[-1] < 0:
                conditions.append(Condition(key, None))
            elif numbers[0] >= 0:
                conditions.append(Condition(key, one_of(column.some(numbers))))
        return tuple(conditions)
