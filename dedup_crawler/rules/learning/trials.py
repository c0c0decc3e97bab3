"""Trials of a hypothesis: the URLs that it would merge with others, and whether each shows the same page.

A *trial* is a URL that the rule changes to the form of another URL. It is compared with the *reference* of its merge
group: the URL that has the form already, or else the first URL. If both show the same page, the rule saves a fetch;
otherwise it loses a page. The unit of evidence is the merge group: a page of 300 URLs counts once. So do right merge
groups that all show one page: ten empty lists say no more than one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dedup_crawler.rules.language.operations import Edit
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.learning.belief import FEW_VALUES, NAMED, UNKNOWN, Evidence
from dedup_crawler.rules.learning.columns import Hashes, Integers, Mask, UrlColumns, map_hash
from dedup_crawler.rules.learning.hypotheses import Hypothesis

MATTERS_SHARE = 0.05
"""A key matters somewhere if more than this share (0-1) of its trials are wrong."""

Weights = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Trials:
    """The trials of a hypothesis; all arrays have the shape (trials,)."""

    rows: Integers
    """Row of each trial in the columns."""
    references: Integers
    """Row of the URL that it is compared with."""
    groups: Integers
    """Number of its merge group."""
    units: Integers
    """Number of its unit of evidence: the page of a right trial, the merge group of a wrong one."""
    is_right: Mask
    """True if it shows the page of the reference."""
    has_base: Mask
    """True if the reference has the form already: then the removed value is compared with no value."""
    gone: Integers
    """Number of the value that the rule removes from the trial; its place in *gone_values*."""
    gone_values: list[str | None]
    beside: Integers
    """Number of the value that the rule removes from the reference; -1 for none."""

    def __len__(self) -> int:
        return len(self.rows)

    def evidence(self, mask: Mask) -> Evidence:
        """Evidence of the trials in *mask*."""
        is_wrong = mask & ~self.is_right
        n_groups = len(np.unique(self.units[mask]))
        share = is_wrong.sum() / max(1, mask.sum())
        n_wrong = max(len(np.unique(self.units[is_wrong])), math.ceil(n_groups * share))
        return Evidence(n_groups, n_wrong, *self.weigh(mask))

    def weigh(self, mask: Mask) -> tuple[float, float]:
        """Weight of the groups of the trials in *mask*, and weight of the wrong trials."""
        weights, wrong, _ = weighed(self.units, self.is_right, mask, np.zeros(len(self), np.int64))
        return float(weights.sum()), float(wrong.sum())


def weighed(units: Integers, is_right: Mask, mask: Mask, values: Integers) -> tuple[Weights, Weights, Integers]:
    """Weights, wrong weights and values of the pairs of value and unit among the trials in *mask*, (pairs,) each.

    A pair weighs the square root of its number of trials. Its wrong weight is the share of wrong trials of that, and at
    least 1 if any is wrong.
    """
    width = int(units.max()) + 1 if len(units) else 1
    pairs, place, sizes = np.unique(  # (pairs,), (trials in mask,), (pairs,)
        values[mask].astype(np.int64) * width + units[mask], return_inverse=True, return_counts=True
    )
    n_wrong = np.bincount(place, weights=~is_right[mask], minlength=len(pairs))  # (pairs,)
    weights = np.sqrt(sizes)
    wrong = np.where(n_wrong > 0, np.maximum(1.0, weights * n_wrong / sizes), 0.0)
    return weights, wrong, pairs // width


def trials_of(hypothesis: Hypothesis, columns: UrlColumns) -> Trials:
    """Apply a hypothesis to all rows that it matches, and compare the rows of each merge group."""
    rows, hashes, gone, gone_values = _changed(hypothesis, columns)  # (changed,)
    known = columns.clusters[rows] != UNKNOWN
    rows, hashes, gone = rows[known], hashes[known], gone[known]  # (known,)
    is_other = np.isin(columns.hashes, hashes) & (columns.clusters != UNKNOWN)  # rows that have such a form already
    is_other[rows] = False
    others = np.flatnonzero(is_other)  # (others,)
    forms = np.concatenate([hashes, columns.hashes[others]])  # (known + others,)
    _, first, group = np.unique(forms, return_index=True, return_inverse=True)  # (groups,), (known + others,)
    reference = np.concatenate([rows, others])[first]  # (groups,): the first row
    has_base = np.zeros(len(first), bool)
    of_others = group[len(rows) :]
    has_base[of_others] = True
    reference[of_others] = others
    of_rows = group[: len(rows)]  # (known,): group of each changed row
    gone_of = np.full(len(columns), -1)
    if gone_values:
        gone_of[rows] = gone
    beside = gone_of[reference[of_rows]]
    is_trial = np.flatnonzero(rows != reference[of_rows])  # (candidates,)
    verdicts = _verdicts(rows[is_trial], reference[of_rows[is_trial]], of_rows[is_trial], columns)
    is_named = is_trial[verdicts == NAMED]
    n_named = len(np.unique(gone[is_named])) if gone_values else _n_values(hypothesis, rows[is_named], columns)
    is_wrong = is_trial[verdicts == 0]
    _settle_named(hypothesis, verdicts, n_named, columns, np.union1d(rows[is_wrong], reference[of_rows[is_wrong]]))
    is_trial, verdicts = is_trial[verdicts >= 0], verdicts[verdicts >= 0]  # (trials,)
    reference = reference[of_rows[is_trial]]  # (trials,)
    rows, of_rows, gone, beside = rows[is_trial], of_rows[is_trial], gone[is_trial], beside[is_trial]
    return Trials(
        rows=rows,
        references=reference,
        groups=of_rows,
        units=_units(of_rows, verdicts > 0, columns.clusters[reference]),
        is_right=verdicts > 0,
        has_base=has_base[of_rows],
        gone=gone,
        gone_values=gone_values,
        beside=beside,
    )


def _units(groups: Integers, is_right: Mask, pages: Integers) -> Integers:
    """Numbers of the units of evidence, which differ for pages and merge groups."""
    return np.where(is_right, pages, int(pages.max(initial=0)) + 1 + groups)


def _settle_named(
    hypothesis: Hypothesis, verdicts: Integers, n_values: int, columns: UrlColumns, wrong_rows: Integers
) -> None:
    """Make pairs of pages that print their values silent if these matter somewhere: each page is about its value.

    A key that was found to matter also tells pages apart in narrower hypotheses. A few values that pages print may be
    the names of views: "Files in a folder" and "Search in a folder" differ in nothing else if the folder is empty.
    """
    matters = (verdicts == 0).sum() > MATTERS_SHARE * (verdicts >= 0).sum()
    if matters and hypothesis.stage == 0 and hypothesis.key is not None:
        values = columns.columns[hypothesis.key].numbers[wrong_rows]
        columns.telling.setdefault(hypothesis.key, set()).update(values[values >= 0].tolist())
    if matters or n_values < FEW_VALUES or not columns.telling.keys().isdisjoint(hypothesis.touched()):
        verdicts[verdicts == NAMED] = -1


def _n_values(hypothesis: Hypothesis, rows: Integers, columns: UrlColumns) -> int:
    """Largest number of values of a key that a rule changes; 1 for a rule that replaces one text by another."""
    keys = columns.columns.keys() & hypothesis.touched()
    return max((len(np.unique(columns.columns[key].numbers[rows])) for key in keys), default=1)


def _verdicts(rows: Integers, references: Integers, groups: Integers, columns: UrlColumns) -> Integers:
    """Verdict on each trial: 1 the same page, 0 another page, -1 silent."""
    verdicts: Integers = (columns.clusters[rows] == columns.clusters[references]).astype(np.int64)
    if columns.evidence is not None and not verdicts.all():
        pairs = zip(columns.first[references].tolist(), columns.first[rows].tolist(), strict=True)
        verdicts = np.where(verdicts > 0, verdicts, columns.evidence.judge(pairs, groups.tolist()))
    # two equal errors, or two redirects to one page, are no evidence: a server that works again, or lets the crawler
    # in, may show two pages
    is_telling = columns.has_own_page[columns.first[rows]] | columns.has_own_page[columns.first[references]]
    verdicts[(verdicts > 0) & ~is_telling] = -1
    return verdicts


def _changed(hypothesis: Hypothesis, columns: UrlColumns) -> tuple[Integers, Hashes, Integers, list[str | None]]:
    """Rows that the rule changes, the hashes of their new maps, and numbers and texts of the removed values."""
    rule = hypothesis.rule
    is_freed = columns.freed(rule) if isinstance(rule, Rule) else np.zeros(len(columns), bool)
    changed = [(row, columns.settled(after) if is_freed[row] else after) for row, after in columns.changed(rule)]
    rows = np.array([row for row, _ in changed], np.int64)
    hashes = np.array([map_hash(after) for _, after in changed], np.uint64)
    if hypothesis.key is not None:
        column = columns.columns[hypothesis.key]
        return rows, hashes, column.numbers[rows], column.values
    if isinstance(rule, Rule) and len(rule.transformation) == 1:
        ((key, operation),) = rule.transformation.items()
        if isinstance(operation, Edit):
            pieces: dict[str | None, int] = {}
            removed = (operation.parts(columns.row(row).get(key))[1] for row in rows.tolist())
            gone = np.array([pieces.setdefault(piece, len(pieces)) for piece in removed], np.int64)
            return rows, hashes, gone, list(pieces)
    return rows, hashes, np.arange(len(rows)), []
