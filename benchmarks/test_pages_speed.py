"""Pages per second into the store: from memory, and by importing a recorded site.

Run with ``pytest benchmarks/test_pages_speed.py``; the normal test run does not collect this folder.
"""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from dedup_crawler.pages.imports import import_files
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.store import PageStore

REPOSITORY = Path(__file__).resolve().parents[1]
RECORDINGS = {
    "example site": REPOSITORY / "examples" / "forum.warc.zst",
    "shop": REPOSITORY.parent / "shared" / "corpora" / "sites" / "shop" / "crawl.warc.zst",
}
N_PAGES = 2000
PAGE_BYTES = 30_000


def made_pages() -> list[Page]:
    """Return pages of 30 KB that compress about as well as real pages."""
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(2, 12))) for _ in range(3000)]
    chrome = " ".join(rng.choices(words, k=200)) * 13
    return [
        Page(f"https://a.example/{i}", content=(chrome + " ".join(rng.choices(words, k=2500))).encode()[:PAGE_BYTES])
        for i in range(N_PAGES)
    ]


@pytest.mark.benchmark(group="pages of 30 KB into the store")
def test_store(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """Time writing pages of 30 KB (target: 3000 pages/s, at most 7 KB per page)."""
    pages = made_pages()
    numbers = itertools.count()

    def write() -> Path:
        path = tmp_path / f"{next(numbers)}.db"
        with PageStore(path) as store:
            assert store.add_many(pages) == N_PAGES
        return path

    path = benchmark.pedantic(write, rounds=3)
    benchmark.extra_info["pages per second"] = round(N_PAGES / benchmark.stats["min"])
    benchmark.extra_info["bytes per page"] = round(path.stat().st_size / N_PAGES)


@pytest.mark.benchmark(group="a recorded site into the store")
@pytest.mark.parametrize("name", RECORDINGS)
def test_import(benchmark: BenchmarkFixture, tmp_path: Path, name: str) -> None:
    """Time importing a whole recorded site."""
    recording = RECORDINGS[name]
    if not recording.exists():
        pytest.skip(f"{recording} is not here")
    numbers = itertools.count()

    def read() -> int:
        with PageStore(tmp_path / f"{next(numbers)}.db") as store:
            return import_files([recording], store).n_new_pages

    n_pages = benchmark.pedantic(read, rounds=3)
    benchmark.extra_info["pages per second"] = round(n_pages / benchmark.stats["min"])
