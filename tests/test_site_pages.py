"""Signatures of a site's pages: what is kept of long pages, and what the pages of a kind share."""

from __future__ import annotations

import numpy as np
import pytest

from dedup_crawler.labels import site_pages
from dedup_crawler.labels.site_pages import SitePages
from label_pages import page, wiki


@pytest.mark.parametrize("max_lines", [2, 4_000])
def test_pages_whose_lines_were_not_kept(monkeypatch: pytest.MonkeyPatch, max_lines: int) -> None:
    """Pages with too many lines to be kept until the layout is known are read again, with the same signatures."""
    pages = wiki()
    expected = SitePages(lambda: pages).signatures
    monkeypatch.setattr(site_pages, "MAX_LINES", max_lines)
    found = SitePages(lambda: pages).signatures

    assert list(found) == list(expected) == list(range(len(pages)))
    for one, other in zip(found.values(), expected.values(), strict=True):
        for name in one.__slots__:
            assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_a_page_with_too_many_lines_is_compared_for_equality_only() -> None:
    """Of 5,000 lines only their hash is kept, of 100 each."""
    long, short = ("\n".join(f"line {n}" for n in range(n_lines)) for n_lines in (5_000, 100))
    signatures = SitePages(lambda: [page("a", long), page("b", long), page("c", short)]).signatures

    assert [len(each.lines) for each in signatures.values()] == [0, 0, 100]
    assert signatures[0].content == signatures[1].content != signatures[2].content


def test_texts_are_read_once_or_twice() -> None:
    """The pages are gone through once, and again only where a key names the page: their texts are not kept."""
    n_times = []

    for pages in (wiki(), [page(str(n), f"text {n}") for n in range(100)]):
        reads = []
        SitePages(lambda pages=pages, reads=reads: reads.append(None) or pages)  # type: ignore[misc]
        n_times.append(len(reads))

    assert n_times == [2, 1]
