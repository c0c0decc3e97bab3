"""Labelled pairs out of a labelled crawl."""

from collections import Counter

from costs import at_most
from dedup_crawler.methods.pairs.known_urls import KnownUrls
from dedup_crawler.methods.pairs.sampling import sample_pairs
from dedup_crawler.urls.templates import Templater, count_tokens
from planted_site import HOST, session_ids


def sampled(urls, clusters, referrers=None, seed=0, max_pairs=20_000):
    known = KnownUrls(urls, urls, Templater.learn(count_tokens(urls), deep=True))
    return sample_pairs(known, clusters, referrers or [None] * len(urls), seed=seed, max_pairs=max_pairs)


def test_labels_are_those_of_the_clusters():
    """Every pair is labelled right, all pairs of small clusters are there, and negatives too."""
    crawl = session_ids()
    cluster = dict(zip(crawl.urls, crawl.clusters, strict=True))
    pairs = sampled(crawl.urls, crawl.clusters)

    assert all(pair.is_duplicate == (cluster[pair.left] == cluster[pair.right]) for pair in pairs)
    assert len({frozenset((pair.left, pair.right)) for pair in pairs if pair.is_duplicate}) == 180
    assert sum(not pair.is_duplicate for pair in pairs) > 300
    assert all(pair.left != pair.right for pair in pairs)


def test_one_huge_page_does_not_swamp_the_others():
    """A page with 2,000 URLs gives a few duplicates of its own (those that its URLs meet by chance are bounded too)."""
    urls = [f"{HOST}/a?x={i}" for i in range(2000)] + [f"{HOST}/b?y={i}" for i in range(100)]
    pairs = sampled(urls, [0] * 2000 + [1 + i // 2 for i in range(100)], max_pairs=3000)

    assert len(pairs) <= 3000
    assert Counter("/b?" in pair.left and "/b?" in pair.right for pair in pairs if pair.is_duplicate)[True] >= 25


def test_each_url_is_paired_with_the_page_that_links_it():
    """As in the capstone, which compared a request with its referrer."""
    urls = [f"{HOST}/", *(f"{HOST}/p/{i}/{i}" for i in range(30))]
    pairs = sampled(urls, range(31), [None, *[f"{HOST}/"] * 30])

    assert {frozenset((f"{HOST}/", url)) for url in urls[1:]} <= {frozenset((pair.left, pair.right)) for pair in pairs}


def test_the_seed_decides():
    """Same seed, same pairs in the same order; another seed, others."""
    crawl = session_ids()

    assert sampled(crawl.urls, crawl.clusters) == sampled(crawl.urls, crawl.clusters)
    assert sampled(crawl.urls, crawl.clusters) != sampled(crawl.urls, crawl.clusters, seed=1)


def test_a_page_with_30_000_urls_costs_seconds():
    """Its pairs would be 450 million: a capped sample is drawn, at a cost that grows with the URLs."""
    urls = [f"{HOST}/trap?a={i}" for i in range(30_000)]
    known = KnownUrls(urls, urls, Templater.learn(count_tokens(urls[::100]), deep=True))
    with at_most(400):
        pairs = sample_pairs(known, [0] * len(urls), [None] * len(urls), seed=0, max_pairs=500)

    assert 0 < len(pairs) <= 500
