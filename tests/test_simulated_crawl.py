"""The simulated crawls of SIGIR'17, and the metrics of WWW'10."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.evaluation.normalization import normalization_quality, pooled
from dedup_crawler.evaluation.simulated_crawl import CrawlOutcome, replay

# (URLs, clusters, KeepAll's precision and F1) of the test part of two sites in the paper's table
PAPER = [(5000, 3467, 0.693, 0.819), (5000, 4903, 0.981, 0.990)]

visits = st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 5)), min_size=1, max_size=40)


@pytest.mark.parametrize(("n_urls", "n_clusters", "precision", "f1"), PAPER)
def test_keeping_all_gives_the_numbers_of_the_paper(n_urls, n_clusters, precision, f1):
    """KeepAll's row of the paper follows from the number of URLs and clusters: nothing is seen at the start."""
    outcome = replay([f"u{i}" for i in range(n_urls)], [i % n_clusters for i in range(n_urls)])

    assert outcome.precision == pytest.approx(precision, abs=0.0006)
    assert outcome.recall == 1.0
    assert outcome.f1 == pytest.approx(f1, abs=0.0006)


def test_the_asp_row_of_the_paper_has_a_typing_error():
    """Precision .949 and recall .974 give F1 .961; the paper prints .936."""
    outcome = CrawlOutcome(n_urls=5000, n_fetched=3558, n_needed=3467, n_covered=3377)

    assert (round(outcome.precision, 3), round(outcome.recall, 3), round(outcome.f1, 3)) == (0.949, 0.974, 0.961)


def test_a_wrong_merge_loses_a_page_and_a_right_one_saves_a_fetch():
    """Three pages, five URLs: one form repeats rightly, one merges two pages."""
    outcome = replay(["a", "a", "b", "b", "c"], [1, 1, 2, 3, 1])

    assert (outcome.n_fetched, outcome.n_needed, outcome.n_covered, outcome.n_lost) == (3, 3, 2, 1)
    assert outcome.n_avoidable == 2
    assert outcome.saved == 0.5


def test_a_warm_crawl_needs_only_what_is_new():
    """A form that training saw is not fetched; a page that it showed is not needed; a new page behind it is lost."""
    outcome = replay(["a", "b", "c"], [1, 2, 3], seen_forms={"a", "b"}, seen_clusters={1})

    assert (outcome.n_fetched, outcome.n_needed, outcome.n_lost) == (1, 2, 1)


@given(visits)
def test_forms_equal_to_pages_are_perfect(pairs):
    """An oracle fetches every page once: precision, recall and saving are 1, and its pairs are all true."""
    clusters = [cluster for _, cluster in pairs]
    forms = [str(cluster) for cluster in clusters]
    outcome = replay(forms, clusters)
    quality = normalization_quality(forms, clusters)

    assert (outcome.precision, outcome.recall, outcome.f1, outcome.n_lost) == (1.0, 1.0, 1.0, 0)
    assert outcome.saved == (1.0 if outcome.n_avoidable else 0.0)
    assert quality.false_positive_rate == 0.0
    assert quality.dup_reduction in (1.0, None)


@given(visits)
def test_no_method_invents_pages(pairs):
    """Whatever the forms: covered pages are at most those needed and those fetched; rates stay between 0 and 1."""
    forms, clusters = zip(*pairs, strict=True)
    outcome = replay(forms, clusters)
    quality = normalization_quality(forms, clusters)

    assert outcome.n_covered <= min(outcome.n_needed, outcome.n_fetched)
    assert 0 <= outcome.f1 <= 1
    assert 0 <= quality.compression < 1
    assert 0 <= quality.false_positive_rate <= 1


def test_counts_pairs_as_www_10_does():
    """A form with two URLs of one page and one of another has three pairs, two of them false."""
    quality = normalization_quality(["f", "f", "f", "g"], [1, 1, 2, 3])

    assert (quality.n_support_pairs, quality.n_false_pairs) == (3, 2)
    assert quality.compression == 0.5
    # before: 4 URLs, 3 clusters; after: 2 forms that stand for the clusters of their first URLs, 1 and 3
    assert quality.dup_reduction == 1.0


def test_dup_reduction_needs_duplicates():
    """Without duplicates there is nothing to reduce: None, not a number."""
    assert normalization_quality(["a", "b"], [1, 2]).dup_reduction is None


def test_micro_is_the_pool_of_all_urls():
    """Two sites of different size: compression of the pool is that of all URLs, not the mean of the sites."""
    small = normalization_quality(["a", "a"], [1, 1])
    large = normalization_quality([str(i) for i in range(8)], range(8))

    assert pooled([small, large]).compression == pytest.approx(0.1)
    assert (small.compression + large.compression) / 2 == 0.25
