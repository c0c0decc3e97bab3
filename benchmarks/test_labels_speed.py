"""Speed of labelling beside the way it is usually done, in pairs: ours and theirs, in one run, on the same pages.

    pytest benchmarks/test_labels_speed.py --benchmark-group-by=group --benchmark-columns=min,median,ops,rounds

Targets: cosine pairs 50 times a vectoriser per pair, fitting included; fingerprints twice and the search for near ones
100 times the PyPI package ``simhash``; pages labelled on two workers 1.8 times jusText alone on one core.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import justext
import numpy as np
import pytest
from simhash import Simhash, SimhashIndex
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from dedup_crawler.labels.clusters import cluster_pages
from dedup_crawler.labels.comparing import word_counts
from dedup_crawler.labels.cosine import group_scores, score_pairs, term_frequencies
from dedup_crawler.labels.main_text import clean_pages
from dedup_crawler.labels.simhash import near_duplicate_pairs, simhash
from dedup_crawler.pages.imports import import_files
from dedup_crawler.pages.records import LabelledPage, Page
from dedup_crawler.pages.store import PageStore

FORUM = Path(__file__).resolve().parents[2] / "shared" / "corpora" / "sites" / "forum" / "crawl.warc.zst"

N_PAGES = 2_600
N_TEXTS = 300
GROUP = 20
N_FINGERPRINTS = 15_000


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Page]:
    """The first 2,600 pages of the forum that have a body to read."""
    if not FORUM.exists():
        pytest.skip(f"needs the recorded crawl {FORUM}")
    with PageStore(tmp_path_factory.mktemp("forum") / "crawl.db") as store:
        import_files([FORUM], store)
        return list(islice((page for page in store.pages() if page.status == 200), N_PAGES))


@pytest.fixture(scope="module")
def texts(pages: list[Page]) -> list[str]:
    """Main texts of 300 pages."""
    return [text.main_text for text in clean_pages(pages[:N_TEXTS], n_workers=2)]


@pytest.fixture(scope="module")
def fingerprints() -> np.ndarray[Any, np.dtype[np.uint64]]:
    """15,000 random fingerprints, 15 % of them with a copy up to 3 bits away."""
    generator = np.random.default_rng(0)
    values = generator.integers(0, 2**64, N_FINGERPRINTS, dtype=np.uint64)
    for index in range(N_FINGERPRINTS * 15 // 100):
        value = int(values[index])
        for bit in generator.integers(0, 64, generator.integers(0, 4)):
            value ^= 1 << int(bit)
        values[N_FINGERPRINTS - 1 - index] = value
    return values


def record(benchmark: Any, what: str, n: int) -> None:
    benchmark.extra_info[f"{what} per second"] = round(n / benchmark.stats.stats.min)


@pytest.mark.benchmark(group="cosine of the pairs of groups, fitting included")
def test_cosine_ours(benchmark: Any, texts: list[str]) -> None:
    """The pairs of 300 texts in groups of 20, about as many as a forum page links to."""

    def in_groups() -> list[Any]:
        rows = term_frequencies(texts)
        return [group_scores(rows[start : start + GROUP]) for start in range(0, len(texts), GROUP)]

    benchmark.pedantic(in_groups, rounds=5, warmup_rounds=1)
    record(benchmark, "pairs", len(texts) // GROUP * GROUP * (GROUP - 1) // 2)


@pytest.mark.benchmark(group="cosine of the pairs of groups, fitting included")
def test_cosine_scikit_learn_per_pair(benchmark: Any, texts: list[str]) -> None:
    """300 pairs, each with a vectoriser of its own; compare pairs per second, not times."""
    pairs = [(texts[index], texts[index - 1]) for index in range(len(texts))]

    def per_pair() -> list[float]:
        return [cosine_similarity(CountVectorizer().fit_transform(pair))[0, 1] for pair in pairs]

    theirs = benchmark.pedantic(per_pair, rounds=3)
    ours = group_scores(term_frequencies(texts))
    assert np.allclose(theirs, [ours[index, index - 1] for index in range(len(texts))], atol=1e-6)
    record(benchmark, "pairs", len(pairs))


@pytest.mark.benchmark(group="simhash of word counts")
def test_simhash_ours(benchmark: Any, texts: list[str]) -> None:
    """Fingerprints of 300 texts whose words are counted."""
    counts = [word_counts(text) for text in texts if text]
    benchmark.pedantic(lambda: [simhash(weights) for weights in counts], rounds=5, warmup_rounds=1)
    record(benchmark, "pages", len(counts))


@pytest.mark.benchmark(group="simhash of word counts")
def test_simhash_package(benchmark: Any, texts: list[str]) -> None:
    """The same counts, and the same values."""
    counts = [Counter(word_counts(text)) for text in texts if text]
    theirs = benchmark.pedantic(lambda: [Simhash(weights).value for weights in counts], rounds=3)
    assert theirs == [simhash(weights) for weights in counts]
    record(benchmark, "pages", len(counts))


@pytest.mark.benchmark(group="near-duplicates among 15,000")
def test_search_ours(benchmark: Any, fingerprints: Any) -> None:
    """All pairs within 3 bits."""
    benchmark.pedantic(near_duplicate_pairs, (fingerprints,), rounds=10, warmup_rounds=2)
    record(benchmark, "fingerprints", len(fingerprints))


@pytest.mark.benchmark(group="near-duplicates among 15,000")
def test_search_package(benchmark: Any, fingerprints: Any) -> None:
    """SimhashIndex: built, then asked for each."""
    objects = [(str(index), Simhash(int(value))) for index, value in enumerate(fingerprints)]

    def search() -> set[tuple[int, int]]:
        index = SimhashIndex(objects, k=3)
        return {
            (min(int(name), int(near)), max(int(name), int(near)))
            for name, value in objects
            for near in index.get_near_dups(value)
            if near != name
        }

    theirs = benchmark.pedantic(search, rounds=2)
    assert theirs == {tuple(pair) for pair in near_duplicate_pairs(fingerprints).tolist()}
    record(benchmark, "fingerprints", len(objects))


@pytest.mark.benchmark(group="pages of a forum")
def test_labelling_on_two_workers(benchmark: Any, pages: list[Page]) -> None:
    """Titles, links, texts, simhashes, scores and clusters of 2,600 pages; starting the workers is part of it."""

    def label() -> list[int]:
        cleaned = clean_pages(pages, n_workers=2)
        labelled = [
            LabelledPage(page.url, page.referrer, page.status, None, text.title, text.main_text, text.simhash, None)
            for page, text in zip(pages, cleaned, strict=True)
        ]
        list(score_pairs(labelled))
        return cluster_pages(lambda: labelled).numbers()

    benchmark.pedantic(label, rounds=2)
    record(benchmark, "pages", len(pages))


@pytest.mark.benchmark(group="pages of a forum")
def test_plain_justext_on_one_core(benchmark: Any, pages: list[Page]) -> None:
    """``justext.justext`` alone, on the same 2,600 pages."""
    words = justext.get_stoplist("English")
    benchmark.pedantic(lambda: [justext.justext(page.content, words) for page in pages], rounds=1)
    record(benchmark, "pages", len(pages))
