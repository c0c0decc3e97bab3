"""The simulated crawls of SIGIR'17, and the metrics of WWW'10."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.evaluation.quality import normalization_quality
from dedup_crawler.evaluation.simulated_crawl import CrawlOutcome, crawl_on, replay
from dedup_crawler.methods.baselines import KeepAll

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
    """For any forms: covered pages are at most the needed and the fetched ones; rates are between 0 and 1."""
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
    # before: 4 URLs, 3 clusters; after: 2 forms with the clusters of their first URLs, 1 and 3
    assert quality.dup_reduction == 1.0


def test_dup_reduction_needs_duplicates():
    """Without duplicates there is nothing to reduce: None, not a number."""
    assert normalization_quality(["a", "b"], [1, 2]).dup_reduction is None


class Told(KeepAll):
    """Posts are the page that links to them; members are covered."""

    def canonicalize(self, url, referrer=None):
        """Return the referrer's form for a post on a known page."""
        return referrer.form if referrer is not None and "/post/" in url else url.removesuffix("?sid")

    def is_covered(self, url):
        """Return True for members."""
        return "/member/" in url


def go_on(visits, crawled=()):
    urls, referrers, clusters = zip(*visits, strict=True)
    return crawl_on(
        Told(),
        urls,
        referrers,
        clusters,
        crawled_urls=[url for url, _ in crawled],
        crawled_clusters=[p for _, p in crawled],
    )


def test_a_crawl_that_goes_on_knows_the_page_that_holds_a_link():
    """A post on a fetched topic is that topic; on an unfetched page it is not."""
    crawled = [("/topic/1", 1)]
    known = [("/post/11", "/topic/1", 1), ("/topic/2", "/", 2), ("/post/21", "/topic/2", 2)]
    unknown = [("/post/31", "/topic/3", 3), ("/post/41", None, 4)]

    assert go_on(known, crawled).n_fetched == 1
    assert go_on([*known, *unknown], crawled).n_fetched == 3
    assert go_on([*known, *unknown], crawled).n_lost == 0


def test_a_referrer_answers_by_its_own_form():
    """A link on a topic that was fetched with a session id has the form without it: one form, one fetch."""
    outcome = go_on([("/topic/1?sid", None, 1), ("/post/11", "/topic/1?sid", 1), ("/topic/1", None, 1)])

    assert (outcome.n_fetched, outcome.n_lost, outcome.saved) == (1, 0, 1.0)


def test_a_dropped_page_is_nobodys_referrer():
    """An unfetched post shows no links: URLs found on it stand for themselves."""
    chain = [("/topic/1", None, 1), ("/post/11", "/topic/1", 1), ("/post/12", "/post/11", 2)]

    assert (go_on(chain).n_fetched, go_on(chain).n_lost) == (2, 0)


class LooksBack(Told):
    """Posts lead back to the topic that holds them, which is known by its links."""

    looks_back = True
    hosts = frozenset({"a.example"})

    def canonicalize(self, url, referrer=None):
        """Return the referrer's form for a post on a topic."""
        return super().canonicalize(url, referrer if referrer and "/topic/" in referrer.url else None)

    def leads_back_to(self, url, pages, names_of=None):
        """Return the first topic, for a post."""
        return next((page for page in pages if "/topic/" in page), None) if "/post/" in url else None


def test_a_crawl_that_goes_on_knows_all_pages_that_hold_a_link():
    """A post was found first on the page of its author. It leads back to its topic, once that is fetched."""
    author, topic, *posts = (f"http://a.example{path}" for path in ("/author", "/topic/1", "/post/1", "/post/2"))
    linked = {author: posts, topic: [posts[1]]}
    outcome = crawl_on(
        LooksBack(),
        [posts[0], topic, posts[1]],
        [author, author, author],
        [1, 2, 2],
        crawled_urls=[author],
        crawled_clusters=[0],
        links_of=lambda page: linked.get(page, ()),
    )

    assert (outcome.n_fetched, outcome.n_lost, outcome.saved) == (2, 0, 1.0)


def test_covered_urls_are_not_fetched_and_hold_no_links():
    """A page shown only by covered URLs counts as lost; URLs found on it stand for themselves."""
    visits = [("/topic/1", None, 1), ("/member/1", None, 1), ("/member/2", None, 2), ("/post/5", "/member/1", 5)]
    outcome = go_on(visits)

    assert (outcome.n_fetched, outcome.n_lost, outcome.n_needed) == (2, 1, 3)


def test_a_warm_crawl_needs_only_what_is_new():
    """A URL seen before is not fetched; a page shown before is not needed; a new page with a seen form is lost."""
    outcome = go_on([("a?sid", None, 1), ("b?sid", None, 2), ("c", None, 3)], [("a", 1), ("b", 1)])

    assert (outcome.n_fetched, outcome.n_needed, outcome.n_lost) == (1, 2, 1)


@given(visits)
def test_with_nothing_before_and_no_referrers_a_crawl_that_goes_on_starts_cold(pairs):
    """The two simulations agree if links do not matter."""
    urls, clusters = zip(*pairs, strict=True)
    method = KeepAll().fit(["http://h.example/"], [0])
    went_on = crawl_on(method, urls, [None] * len(urls), clusters, crawled_urls=[], crawled_clusters=())

    assert went_on == replay(urls, clusters)
