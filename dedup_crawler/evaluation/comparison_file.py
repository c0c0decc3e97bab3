"""Reads the output of ``dedup-crawler evaluate --json``: it takes counts, and computes every rate from them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dedup_crawler.errors import BadInputError
from dedup_crawler.evaluation.comparison import Row
from dedup_crawler.evaluation.normalization import NormalizationQuality
from dedup_crawler.evaluation.simulated_crawl import CrawlOutcome

MAX_BYTES = 16 * 2**20
MAX_SITES = 20
MAX_METHODS = 40
MAX_COUNT = 10**12
_WAY_OUT = "Make one with `dedup-crawler evaluate --json > FILE`."


def read_comparison(path: str | Path) -> dict[str, list[Row]]:
    """Site -> a row a method, at most 20 sites with 40 methods each.

    Raises
    ------
    BadInputError
        If the file cannot be read, or is not what ``evaluate --json`` prints.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadInputError(f"{path} cannot be read ({error.strerror or type(error).__name__}). {_WAY_OUT}") from None
    if len(data) > MAX_BYTES:
        raise BadInputError(f"{path} has more than {MAX_BYTES} bytes and is no comparison. {_WAY_OUT}")
    try:
        value = json.loads(data)
        if not isinstance(value, dict) or not value:
            raise TypeError("no site")
        sites = list(value.items())[:MAX_SITES]
        return {str(site): [_row(entry) for entry in list(rows)[:MAX_METHODS]] for site, rows in sites}
    except (KeyError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        reason = " ".join(str(error).split())[:100] or type(error).__name__
        raise BadInputError(
            f"{path} is not what `dedup-crawler evaluate --json` prints ({reason}). {_WAY_OUT}"
        ) from None


def _row(value: Mapping[str, Any]) -> Row:
    learnt = value["n_learnt"]
    return Row(
        method=str(value["method"]),
        cold=_outcome(value["cold"]),
        warm=_outcome(value["warm"]),
        normalization=_normalization(value["normalization"]),
        fit_s=_seconds(value["fit_s"]),
        canonicalize_us=_seconds(value["canonicalize_us"]),
        n_learnt=None if learnt is None else _count(learnt),
    )


def _outcome(value: Mapping[str, Any]) -> CrawlOutcome:
    names = ("n_urls", "n_fetched", "n_needed", "n_covered")
    outcome = CrawlOutcome(*(_count(value[name]) for name in names))
    if not outcome.n_covered <= min(outcome.n_needed, outcome.n_fetched) <= outcome.n_urls:
        raise ValueError(f"a crawl of {outcome.n_urls} URLs cannot cover {outcome.n_covered} pages")
    if max(outcome.n_needed, outcome.n_fetched) > outcome.n_urls:
        raise ValueError(f"a crawl of {outcome.n_urls} URLs cannot fetch {outcome.n_fetched} of them")
    return outcome


def _normalization(value: Mapping[str, Any]) -> NormalizationQuality:
    names = ("n_urls", "n_forms", "n_clusters", "n_clusters_left", "n_support_pairs", "n_false_pairs")
    quality = NormalizationQuality(*(_count(value[name]) for name in names))
    if not 0 < quality.n_forms <= quality.n_urls:
        raise ValueError(f"{quality.n_urls} URLs cannot have {quality.n_forms} forms")
    return quality


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MAX_COUNT:
        raise ValueError(f"{str(value)[:30]!r} is no count")
    return value


def _seconds(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{str(value)[:30]!r} is no time")
    return float(value)
