"""Cost of a link: our canonical form compared with the fingerprint that Scrapy computes for every request.

    make bench

Target: a known template costs at most half of ``w3lib.url.canonicalize_url``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.utils.request import RequestFingerprinter
from w3lib.url import canonicalize_url

from dedup_crawler.evaluation.quality import read_truth
from dedup_crawler.methods import Canonicalizer, make_method

TRUTH = Path(__file__).resolve().parent.parent / "examples" / "forum.truth.csv.gz"
N_LEARNT = 3_750
GROUP = pytest.mark.benchmark(group="a link of the forum, template known")


@pytest.fixture(scope="module")
def crawl() -> dict[str, str]:
    """Return URL -> page of the example site, in crawl order, to train a translator."""
    return read_truth(TRUTH)


@pytest.fixture(scope="module")
def urls(crawl: dict[str, str]) -> list[str]:
    """Return the last quarter, which the model was not trained on."""
    return list(crawl)[N_LEARNT:]


@pytest.fixture(scope="module")
def model(crawl: dict[str, str]) -> Canonicalizer:
    """Return the translator, trained on the first three quarters."""
    numbers: dict[str, int] = {}
    clusters = [numbers.setdefault(page, len(numbers)) for page in crawl.values()]
    return make_method("seq2seq").fit(list(crawl)[:N_LEARNT], clusters[:N_LEARNT])


def measure(benchmark: Any, call: Callable[[Any], object], links: list[Any]) -> None:
    def all_links() -> None:
        for link in links:
            call(link)

    benchmark.pedantic(all_links, rounds=30, warmup_rounds=3)
    benchmark.extra_info["links per second"] = round(len(links) / benchmark.stats.stats.median)


@GROUP
def test_canonicalize(benchmark: Any, model: Canonicalizer, urls: list[str]) -> None:
    """Time our form of each link; the links are repeats, as most links of a crawl are."""
    measure(benchmark, model.canonicalize, urls)


@GROUP
def test_w3lib(benchmark: Any, urls: list[str]) -> None:
    """Time the string from which Scrapy's fingerprint is made."""
    measure(benchmark, canonicalize_url, urls)


@GROUP
def test_scrapy_fingerprint(benchmark: Any, urls: list[str]) -> None:
    """Time the whole fingerprint, with new requests each round, because requests cache it."""

    def fingerprint(url: str) -> bytes:
        return RequestFingerprinter().fingerprint(Request(url))

    measure(benchmark, fingerprint, urls)
