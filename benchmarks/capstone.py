"""The capstone of 2018 reproduced on its own pairs, and then measured on URLs that no training pair holds.

    python benchmarks/capstone.py ../shared/corpora/pairs [RUNS.jsonl] > benchmarks/results/capstone.md

Every run (site, split, method, seed) is appended to RUNS.jsonl (default: build/capstone.jsonl) when it is done, and is
not done again: an interrupted benchmark goes on where it stopped. Three seeds take some three hours on two cores.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dedup_crawler.evaluation.pair_quality import pair_quality
from dedup_crawler.methods.labelled_pairs import UrlPair, read_pairs
from dedup_crawler.methods.registry import method_from_spec

SITES = "ubuntu", "digitalspy"
METHODS = {"random-forest": "random forest", "siamese:preset=paper": "LSTM, faithful", "siamese": "LSTM, cured"}
SPLITS = {"pairs": ("random-forest", "siamese:preset=paper"), "urls": tuple(METHODS)}
SEEDS = 0, 1, 2
TEST_SHARE = 0.25
PUBLISHED = {
    ("ubuntu", "random-forest"): ".95",
    ("ubuntu", "siamese:preset=paper"): ".97",
    ("digitalspy", "random-forest"): ".88",
    ("digitalspy", "siamese:preset=paper"): ".98",
}
RATES = "accuracy", "precision", "recall", "f1", "auc"
Run = dict[str, Any]


def split(pairs: Sequence[UrlPair], by: str, seed: int) -> tuple[list[UrlPair], list[UrlPair]]:
    """Pairs to learn from and pairs to be judged on: a quarter of the pairs, or those within a quarter of the URLs.

    By URLs, a pair with one URL on either side is in neither part.
    """
    draw = random.Random(seed)
    if by == "pairs":
        shuffled = list(pairs)
        draw.shuffle(shuffled)
        n_test = round(TEST_SHARE * len(pairs))
        return shuffled[n_test:], shuffled[:n_test]
    urls = sorted({url for pair in pairs for url in (pair.left, pair.right)})
    held_out = set(draw.sample(urls, round(TEST_SHARE * len(urls))))
    n_held_out = [(pair.left in held_out) + (pair.right in held_out) for pair in pairs]
    kept = [pair for pair, n in zip(pairs, n_held_out, strict=True) if n == 0]
    return kept, [pair for pair, n in zip(pairs, n_held_out, strict=True) if n == 2]


def measure(pairs: Sequence[UrlPair], by: str, spec: str, seed: int) -> Run:
    """Train and judge once."""
    training, test = split(pairs, by, seed)
    started = time.perf_counter()
    method = method_from_spec(f"{spec}{',' if ':' in spec else ':'}seed={seed}")
    method.progress = lambda epoch, epochs, accuracy: print(
        f"{spec} {by} {seed}: epoch {epoch} of {epochs}, {accuracy:.4f}", file=sys.stderr, flush=True
    )
    method.fit_pairs(training)
    fit_s = time.perf_counter() - started
    probabilities = method.duplicate_probabilities([(pair.left, pair.right) for pair in test])
    quality = pair_quality(probabilities, [pair.is_duplicate for pair in test], method.threshold_)
    return {"n_training": len(training), "fit_s": round(fit_s, 1), "threshold": method.threshold_, **quality.as_dict()}


def all_runs() -> Iterator[tuple[str, str, str, int]]:
    """Site, split, method and seed of every run; the first seed of everything comes first."""
    for seed in SEEDS:
        for site in SITES:
            for by, methods in SPLITS.items():
                for spec in methods:
                    yield site, by, spec, seed


def finished(path: Path) -> dict[tuple[str, str, str, int], Run]:
    """Runs of the file."""
    if not path.exists():
        return {}
    runs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(run["site"], run["split"], run["method"], run["seed"]): run for run in runs}


def main(folder: Path, path: Path, only: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pairs = {site: read_pairs(folder / f"{site}.csv") for site in SITES}
    for site, by, spec, seed in all_runs():
        if (site, by, spec, seed) in finished(path) or not set(only) <= {site, by, spec, str(seed)}:
            continue
        run = measure(pairs[site], by, spec, seed)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"site": site, "split": by, "method": spec, "seed": seed, **run}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "build/capstone.jsonl"), sys.argv[3:])
