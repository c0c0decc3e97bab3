"""Course of a training, small enough for ``training.json``: curves, and pairs that were held out.

It is for a person to look at (``dedup-crawler report``); no answer of the model depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dedup_crawler.json_values import JsonValue

FILE = "training.json"
"""Its file in a model folder."""
MAX_POINTS = 200
"""Most points of a curve; of more, evenly spaced ones are kept."""
MAX_CURVES = 20
_N_BINS = 10
_DIGITS = 6


@dataclass(frozen=True)
class Curve:
    """One value by epoch."""

    network: str
    """Name of the network."""
    value: str
    """Quantity of the curve: loss, or a share of right answers."""
    points: tuple[tuple[int, float], ...]
    """Epoch and value, in order."""


@dataclass(frozen=True)
class Bin:
    """Pairs with answers in one tenth of the probabilities."""

    n_pairs: int
    n_same: int
    """Pairs that show the same page."""
    mean_probability: float
    """Mean of the answers."""


@dataclass(frozen=True)
class HeldOut:
    """Answers of a network about pairs with a URL that it was not trained on."""

    threshold: float
    n_true_positives: int
    n_false_positives: int
    n_true_negatives: int
    n_false_negatives: int
    bins: tuple[Bin, ...]

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return self.n_true_positives + self.n_false_positives + self.n_true_negatives + self.n_false_negatives


@dataclass(frozen=True)
class TrainingHistory:
    """All that is kept."""

    curves: tuple[Curve, ...] = ()
    held_out: HeldOut | None = None


NO_HISTORY = TrainingHistory()
"""History of a method that keeps none, or of a model that was trained before histories were kept."""


def curve(network: str, value: str, points: Sequence[tuple[int, float]]) -> Curve:
    """A curve of at most :data:`MAX_POINTS` points, the last among them."""
    step = max(1, math.ceil((len(points) - 1) / (MAX_POINTS - 1)))
    kept = [*points[:-1:step], *points[-1:]]
    return Curve(network, value, tuple((epoch, round(float(number), _DIGITS)) for epoch, number in kept))


def held_out(probabilities: Sequence[float], is_same: Sequence[bool], threshold: float) -> HeldOut:
    """Count answers (0-1) by what the pairs are."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(_N_BINS)]
    counts = {(called, same): 0 for called in (False, True) for same in (False, True)}
    for probability, same in zip(probabilities, is_same, strict=True):
        counts[probability >= threshold, bool(same)] += 1
        bins[min(_N_BINS - 1, int(probability * _N_BINS))].append((probability, same))
    return HeldOut(
        threshold=threshold,
        n_true_positives=counts[True, True],
        n_false_positives=counts[True, False],
        n_true_negatives=counts[False, False],
        n_false_negatives=counts[False, True],
        bins=tuple(
            Bin(len(found), sum(bool(same) for _, same in found), round(sum(p for p, _ in found) / len(found), _DIGITS))
            for found in bins
            if found
        ),
    )


def history_to_json(history: TrainingHistory) -> dict[str, Any]:
    """Return a history as JSON values."""
    value: dict[str, Any] = {
        "curves": [
            {"network": each.network, "value": each.value, "points": [list(point) for point in each.points]}
            for each in history.curves
        ]
    }
    if history.held_out is not None:
        judged = history.held_out
        value["held_out"] = {
            "threshold": judged.threshold,
            "same_said_same": judged.n_true_positives,
            "different_said_same": judged.n_false_positives,
            "different_said_different": judged.n_true_negatives,
            "same_said_different": judged.n_false_negatives,
            "bins": [
                {"pairs": each.n_pairs, "same": each.n_same, "mean_probability": each.mean_probability}
                for each in judged.bins
            ],
        }
    return value


def history_from_json(value: JsonValue) -> TrainingHistory:
    """Read what :func:`history_to_json` gave.

    Raises
    ------
    BadInputError
        If it cannot have: a curve without numbers, or counts below 0.
    """
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
    return HeldOut(
        value["threshold"].number(),
        value["same_said_same"].count(),
        value["different_said_same"].count(),
        value["different_said_different"].count(),
        value["same_said_different"].count(),
        tuple(
            Bin(each["pairs"].count(), each["same"].count(), each["mean_probability"].number())
            for each in value["bins"].values(_N_BINS)
        ),
    )


def _point(value: JsonValue) -> tuple[int, float]:
    numbers = value.values()
    if len(numbers) != 2:
        value.refuse("an epoch and a value")
    return numbers[0].count(), numbers[1].number()
