"""The order of a query: when it matters."""

from __future__ import annotations

from dedup_crawler.rules.language.statistics import MergeEvidence
from dedup_crawler.rules.learning.belief import UNKNOWN
from dedup_crawler.rules.learning.host_crawl import HostCrawl, evidence_of_order, order_matters

FORMS = ["/?a=1&b=2"] * 2 + ["/?a=1&c=3"] * 3
URLS = ["/?a=1&b=2", "/?b=2&a=1", "/?c=3&a=1", "/?c=3&a=1", "/?a=1&c=3"]


def counted(forms: list[str], urls: list[str], pages: list[int]) -> MergeEvidence:
    nothing = [None] * len(urls)
    return evidence_of_order(forms, HostCrawl("", urls, pages, nothing, nothing))


def test_urls_that_differ_in_order_alone_are_a_group():
    """A repeated URL is no evidence; a group that shows two pages is a contradiction."""
    assert counted(FORMS, URLS, [0, 0, 1, 1, 1]) == MergeEvidence(2, 0)
    assert counted(FORMS, URLS, [0, 0, 1, 1, 2]) == MergeEvidence(2, 1)
    assert counted(FORMS[2:4], URLS[2:4], [1, 1]) == MergeEvidence(0, 0)


def test_what_nobody_knows_says_nothing():
    """A redirect to an uncrawled URL."""
    assert counted(FORMS, URLS, [0, UNKNOWN, 1, 1, UNKNOWN]) == MergeEvidence(0, 0)


def test_the_query_is_sorted_until_that_is_contradicted():
    """Also without evidence; two wrong groups are accidents, and so are three of a hundred."""
    assert not order_matters(MergeEvidence(0, 0))
    assert not order_matters(MergeEvidence(2, 2))
    assert not order_matters(MergeEvidence(100, 3))
    assert order_matters(MergeEvidence(3, 3))
    assert order_matters(MergeEvidence(100, 11))
