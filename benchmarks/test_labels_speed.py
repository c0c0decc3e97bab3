"""Speed of labelling compared with jusText alone, on the same pages.

    pytest benchmarks/test_labels_speed.py --benchmark-group-by=group --benchmark-columns=min,median,ops,rounds

Target: pages labelled on two workers 1.5 times as fast as jusText alone on one core.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import justext
import pytest

from dedup_crawler.labels.clusters import cluster_pages
from dedup_crawler.labels.main_text import TextReader
from dedup_crawler.labels.published import score_pairs
from dedup_crawler.pages.imports import import_files
from dedup_crawler.pages.records import LabelledPage, Page
from dedup_crawler.pages.store import PageStore

FORUM = Path(__file__).resolve().parents[2] / "shared" / "corpora" / "sites" / "forum" / "crawl.warc.zst"

N_PAGES = 2_600


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Page]:
    """Return the first 2,600 pages of the forum with a body."""
    if not FORUM.exists():
        pytest.skip(f"needs the recorded crawl {FORUM}")
    with PageStore(tmp_path_factory.mktemp("forum") / "crawl.db") as store:
        import_files([FORUM], store)
        return list(islice((page for page in store.pages() if page.status == 200), N_PAGES))


def record(benchmark: Any, what: str, n: int) -> None:
    benchmark.extra_info[f"{what} per second"] = round(n / benchmark.stats.stats.min)


@pytest.mark.benchmark(group="pages of a forum")
def test_labelling_on_two_workers(benchmark: Any, pages: list[Page]) -> None:
    """Time titles, links, texts, simhashes, scores and clusters of 2,600 pages, including the start of workers."""

    def label() -> list[int]:
        with TextReader(n_workers=2) as reader:
            texts = [text for text, _ in reader.read(pages)]
        labelled = [
            LabelledPage(page.url, page.referrer, page.status, None, text.title, text.main_text, text.simhash, None)
            for page, text in zip(pages, texts, strict=True)
        ]
        list(score_pairs(labelled))
        return cluster_pages(lambda: labelled).numbers()

    benchmark.pedantic(label, rounds=2)
    record(benchmark, "pages", len(pages))


@pytest.mark.benchmark(group="pages of a forum")
def test_plain_justext_on_one_core(benchmark: Any, pages: list[Page]) -> None:
    """Time ``justext.justext`` alone, on the same 2,600 pages."""
    words = justext.get_stoplist("English")
    benchmark.pedantic(lambda: [justext.justext(page.content, words) for page in pages], rounds=1)
    record(benchmark, "pages", len(pages))
