"""What it costs to learn from the pages of a crawl, as a crawl that learns by itself does: seconds and memory.

    python benchmarks/learn_cost.py SITES [SITE ...] > benchmarks/results/learn_cost.md

Each site is imported into a new database. Then one process reads the texts of its pages, which a crawl does only once
for each page; and another one makes digests, labels and rules, which it does again for each model. That is done with
half of the pages, too. CPU seconds; the memory is the most that the process of a model took.
"""

from __future__ import annotations

import gc
import math
import resource
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from recorded import ALL_NAMES
from usage import arguments

from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.labels.clusters import cluster_labelled
from dedup_crawler.labels.main_text import clean_page, stored_links
from dedup_crawler.live.models.refit import METHOD
from dedup_crawler.methods import make_method
from dedup_crawler.methods.model.training_data import TrainingData
from dedup_crawler.pages.imports import import_files
from dedup_crawler.pages.store import PageStore


class Cost(NamedTuple):
    """CPU seconds of the steps of one model, and MiB."""

    n_pages: int
    digests_s: float
    labels_s: float
    rules_s: float
    memory_mib: int

    @property
    def all_s(self) -> float:
        """Return the seconds of all steps."""
        return self.digests_s + self.labels_s + self.rules_s


def cost_of_texts(database: Path) -> float:
    """Read the texts of a crawl in this process; return the CPU seconds."""
    with PageStore(database) as store:
        start = time.process_time()
        store.write_texts(clean_page(page)[0] for page in store.uncleaned_pages())
        return time.process_time() - start


def cost_of_model(database: Path, share: float) -> Cost:
    """Learn from the first pages of a crawl, with the steps of :func:`dedup_crawler.live.models.refit.refit`."""
    gc.disable()  # as in the process that learns beside a crawl
    with PageStore(database, create=False) as store:
        pages = list(islice(store.labelled_pages(), round(share * len(store))))
        start = time.process_time()
        evidence = PageEvidence.of_pages(pages, store.rotating_text(), stored_links(store))
        digested = time.process_time()
        clusters = cluster_labelled(pages, evidence.digests.meters)
        labelled = time.process_time()
        make_method(METHOD).fit(*TrainingData.of_pages(pages, clusters, evidence))
        learnt = time.process_time()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 2**10
    return Cost(len(pages), digested - start, labelled - digested, learnt - labelled, memory)


def main(sites: Path, names: Sequence[str]) -> None:
    """Print the table."""
    print(
        "| site | pages | texts s | digests s | labels s | rules s | a model s | digests / texts | of n log n | MiB |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            database = Path(folder) / f"{name}.db"
            with PageStore(database) as store:
                import_files([sites / name / "crawl.warc.zst"], store)
            texts_s = in_new_process(cost_of_texts, database)
            half = in_new_process(cost_of_model, database, 0.5)
            whole = in_new_process(cost_of_model, database, 1.0)
        growth = (
            whole.all_s / half.all_s / (whole.n_pages * math.log(whole.n_pages) / half.n_pages / math.log(half.n_pages))
        )
        seconds = " | ".join(f"{s:.1f}" for s in (texts_s, whole.digests_s, whole.labels_s, whole.rules_s, whole.all_s))
        shares = f"{whole.digests_s / texts_s:.2f} | {growth:.2f}"
        print(f"| {name} | {whole.n_pages:,} | {seconds} | {shares} | {whole.memory_mib} |", flush=True)
    print("\n*of n log n*: the seconds of a model of all pages, in what they would be by n log n from half of them.")


def in_new_process(function, *arguments):  # type: ignore[no-untyped-def]
    """Call a function in a process of its own, so that its memory and CPU time are its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


if __name__ == "__main__":
    given = arguments(__doc__, least=1)
    main(Path(given[0]), given[1:] or ALL_NAMES)
