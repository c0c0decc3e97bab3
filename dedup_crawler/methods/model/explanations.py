"""Answers of a model about URLs and rules, and the course of its training, in types that all methods share.

The course (``training.json``) is for ``dedup-crawler report``; no answer of a model depends on it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields
from typing import Any, NamedTuple, TypedDict

from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.language.identifiers import order_identifier, site_identifier
from dedup_crawler.rules.language.rule import AnyRule
from dedup_crawler.rules.language.sentences import sentence_of
from dedup_crawler.rules.language.site_rules import SiteRule

FILE = "training.json"
"""Name of the file in a model folder."""
MAX_POINTS = 200
"""Most points of a curve; a longer curve keeps evenly spaced points."""
MAX_CURVES = 20
_N_BINS = 10
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Referrer:
    """The page that holds the link."""

    url: str
    form: str
    """Canonical form of the page."""
    link_names: frozenset[str] | None = None
    """Names in all links of the page (:mod:`dedup_crawler.urls.page_links`); None if not known: then rules
    about short lists say nothing."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Reason for the canonical form of a URL."""

    url: str
    form: str
    reason: str
    """One sentence for a person."""
    evidence: Mapping[str, object] = field(default_factory=dict)
    """Counts behind the reason."""


class KnownRule(NamedTuple):
    """One rule of a model."""

    sentence: str
    """The rule in words."""
    n_groups: int = 0
    """Number of merge groups in training; 0 if they were not counted."""
    n_wrong: int = 0
    """Number of merge groups that showed several pages."""


def known_rules(
    hosts: Iterable[str], engine: RuleEngine, others: Iterable[tuple[str, SiteRule]] = ()
) -> dict[str, KnownRule]:
    """Identifier -> rule: the sorting of queries on *hosts*, the rules of *engine*, and *others* with their hosts."""
    known = {order_identifier(host): KnownRule(f"the order of the query does not matter on {host}") for host in hosts}
    named: list[tuple[str, AnyRule | SiteRule]] = [*zip(engine.identifiers, engine.rules, strict=True)]
    named += [(site_identifier(host, rule), rule) for host, rule in others]
    return known | {
        name: KnownRule(sentence_of(rule), rule.evidence.n_groups, rule.evidence.n_wrong) for name, rule in named
    }


class Asked(NamedTuple):
    """A URL with its referrer and its form."""

    url: str
    referrer: Referrer | None
    form: str


class Record(TypedDict):
    """Answer of a model about one URL, a row of a table."""

    url: str
    form: str
    covered: bool
    """True if a crawl that continues gains nothing from the URL."""
    rules: list[str]
    """Identifiers of the rules about the URL, as in the stats of a crawl."""
    reason: str


@dataclass(frozen=True)
class Curve:
    """A value for each epoch."""

    network: str
    """Name of the network."""
    value: str
    """Name of the value: the loss, or a share of right answers."""
    points: tuple[tuple[int, float], ...]
    """Epoch and value, in order."""


@dataclass(frozen=True)
class Bin:
    """Pairs with answers in one tenth of the range of probabilities."""

    n_pairs: int
    n_same: int
    """Number of pairs that show the same page."""
    mean_probability: float
    """Mean answer (0-1)."""


@dataclass(frozen=True)
class HeldOut:
    """Answers of a classifier about held-out pairs, which have a URL that is not in the training pairs."""

    threshold: float
    same_said_same: int
    different_said_same: int
    different_said_different: int
    same_said_different: int
    bins: tuple[Bin, ...]

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return self.same_said_same + self.different_said_same + self.different_said_different + self.same_said_different


_COUNTS = tuple(field.name for field in fields(HeldOut) if "_said_" in field.name)
_BIN_KEYS = ("pairs", "same", "mean_probability")


@dataclass(frozen=True)
class TrainingHistory:
    """Curves of a training, and answers about held-out pairs."""

    curves: tuple[Curve, ...] = ()
    held_out: HeldOut | None = None


def curve(network: str, value: str, points: Sequence[tuple[int, float]]) -> Curve:
    """Make a curve of at most :data:`MAX_POINTS` of the points; the last point stays."""
    step = max(1, math.ceil((len(points) - 1) / (MAX_POINTS - 1)))
    kept = [*points[:-1:step], *points[-1:]]
    return Curve(network, value, tuple((epoch, round(float(number), _DIGITS)) for epoch, number in kept))


def held_out(probabilities: Sequence[float], is_same: Sequence[bool], threshold: float) -> HeldOut:
    """Count the answers (0-1) about pairs that show the same page or two pages."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(_N_BINS)]
    counts = Counter[str]()
    for probability, same in zip(probabilities, is_same, strict=True):
        said = "same" if probability >= threshold else "different"
        counts[f"{'same' if same else 'different'}_said_{said}"] += 1
        bins[min(_N_BINS - 1, int(probability * _N_BINS))].append((probability, bool(same)))
    return HeldOut(
        threshold=threshold,
        **{name: counts[name] for name in _COUNTS},
        bins=tuple(
            Bin(len(found), sum(same for _, same in found), round(sum(p for p, _ in found) / len(found), _DIGITS))
            for found in bins
            if found
        ),
    )


def history_to_json(history: TrainingHistory) -> dict[str, Any]:
    """Return a history as JSON values."""
    value: dict[str, Any] = {"curves": [asdict(each) for each in history.curves]}
    if (judged := history.held_out) is not None:
        bins = [dict(zip(_BIN_KEYS, astuple(each), strict=True)) for each in judged.bins]
        value["held_out"] = {**asdict(judged), "bins": bins}
    return value


def history_from_json(value: JsonValue | None) -> TrainingHistory:
    """Read the result of :func:`history_to_json`, or of nothing; BadInputError if *value* is anything else."""
    if value is None:
        return TrainingHistory()
    curves = tuple(
        Curve(
            each["network"].text()[:100],
            each["value"].text()[:100],
            tuple(_point(point) for point in each["points"].values(MAX_POINTS)),
        )
        for each in value["curves"].values(MAX_CURVES)
    )
    return TrainingHistory(curves, _held_out(value["held_out"]) if "held_out" in value else None)


def _held_out(value: JsonValue) -> HeldOut:
    bins = [
        Bin(each["pairs"].count(), each["same"].count(), each["mean_probability"].number())
        for each in value["bins"].values(_N_BINS)
    ]
    return HeldOut(value["threshold"].number(), **{name: value[name].count() for name in _COUNTS}, bins=tuple(bins))


def _point(value: JsonValue) -> tuple[int, float]:
    numbers = value.values()
    if len(numbers) != 2:
        value.refuse("an epoch and a value")
    return numbers[0].count(), numbers[1].number()
