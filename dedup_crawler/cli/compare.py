"""The command that asks a pair classifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import click

from dedup_crawler.cli.group import main
from dedup_crawler.cli.output import AS_JSON, print_json
from dedup_crawler.errors import BadInputError
from dedup_crawler.methods import load_model
from dedup_crawler.methods.pairs.classifier import PairClassifier
from dedup_crawler.methods.pairs.labelled import stream_pairs
from dedup_crawler.methods.static_front import StaticFront

_PAIRS_AT_ONCE = 1000


@main.command()
@click.option("--model", type=click.Path(path_type=Path), required=True, help="Model folder of a pair classifier.")
@click.option("--pairs", type=click.Path(path_type=Path), required=True, help="CSV with url1,url2 and maybe score.")
@AS_JSON
def compare(model: Path, pairs: Path, as_json: bool) -> None:
    """Print the probability that two URLs are one page for each pair (url1, url2, probability).

    If the pairs have scores, the quality of the answers goes to stderr; a score of 0.99 or more is a duplicate.

    Example: dedup-crawler compare --model models/forum --pairs pairs.csv
    """
    from dedup_crawler.evaluation.pair_quality import pair_quality

    loaded = load_model(model)
    loaded = loaded.model if isinstance(loaded, StaticFront) else loaded  # probabilities are of the URLs as given
    if not isinstance(loaded, PairClassifier):
        raise BadInputError(
            f"{model} holds a {loaded.name} model, which gives no probabilities: train siamese or random-forest, "
            f"or ask `dedup-crawler explain --model {model} URL URL`."
        )
    answers: list[tuple[str, str, float]] = []
    labels: list[bool] = []
    lines = stream_pairs(pairs)
    while batch := list(islice(lines, _PAIRS_AT_ONCE)):
        probabilities = loaded.duplicate_probabilities([(pair.left, pair.right) for pair in batch])
        labels += [pair.is_duplicate for pair in batch if pair.is_duplicate is not None]
        found = [(pair.left, pair.right, p) for pair, p in zip(batch, probabilities, strict=True)]
        answers += found
        if not as_json:
            click.echo("\n".join(f"{left}\t{right}\t{probability:.4f}" for left, right, probability in found))
    threshold = 1.0 if loaded.threshold_ is None else loaded.threshold_
    quality = pair_quality([p for _, _, p in answers], labels, threshold).as_dict() if labels else {}
    if as_json:
        rows = [{"url1": left, "url2": right, "probability": p} for left, right, p in answers]
        print_json(threshold=threshold, pairs=rows, **({"quality": quality} if quality else {}))
        return
    for line in _quality_lines(quality, threshold):
        click.echo(line, err=True)


def _quality_lines(quality: Mapping[str, Any], threshold: float) -> Iterator[str]:
    """Rates of a pair classifier, a line each, then its confusion matrix with both axes named."""
    if not quality:
        return
    yield f"{quality['pairs']} pairs with a score, the same page from probability {threshold} on"
    for name in ("accuracy", "precision", "recall", "f1", "auc"):
        yield f"{name}: " + ("-" if quality[name] is None else f"{quality[name]:.4f}")
    columns = ("answer different", "answer same")
    yield " " * 16 + "".join(f"{column:>18}" for column in columns)
    for row, counts in quality["confusion"].items():
        yield f"{row:<16}" + "".join(f"{counts[column]:>18}" for column in columns)
