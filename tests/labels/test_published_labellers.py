"""The labellers of the capstone and of SIGIR 2017, and the scores, compared with the original tools and definitions."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simhash import Simhash
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from dedup_crawler.evidence.labelling import labeller_of
from dedup_crawler.labels.joins import DisjointSets
from dedup_crawler.labels.lines import split_words
from dedup_crawler.labels.published import (
    PART_PAGES,
    PARTNERS_PER_PAGE,
    count_pages,
    fingerprint,
    sampled_share,
    score_pairs,
)
from dedup_crawler.pages.records import LabelledPage
from label_pages import SITE, page

START = "http://site.example/"


def found_page(path: str, text: str, referrer: str | None = START) -> LabelledPage:
    return LabelledPage(START + path, referrer, 200, None, "title", text, None, None)


def test_a_group_is_a_page_and_what_was_found_on_it() -> None:
    """The referrer belongs to its group if it was crawled and has text; pages without text are in no group."""
    pages = [found_page("", "one two", None), found_page("a", "three"), found_page("empty", "")]
    pages += [found_page("b", "x", START + "a")]
    pages += [found_page("c", "y", "http://other.example/"), found_page("d", "z", "http://other.example/")]

    assert [group.tolist() for group in count_pages(pages).groups] == [[0, 1], [1, 3], [4, 5]]


@given(st.lists(st.integers(0, 5), min_size=2, max_size=40), st.integers(1, 60))
def test_every_duplicate_pair_is_scored(copies: list[int], first: int) -> None:
    """
    In a group of up to 51 duplicates every pair that scikit-learn gives 0.99 or more is there once, with that score:
    equal texts, nearly equal ones, and copies of either, in whatever order; no other pair has such a score. Each score
    is between 0 and 1, with the earlier page first.
    """
    texts = ["", "one two", "one three", *("shared " * 30 + f"own{n} " * n for n in (0, 1, 2))]
    pages = [found_page(str(n), "word " + texts[copy]) for n, copy in enumerate(copies, first)]
    theirs = cosine_similarity(CountVectorizer().fit_transform([each.main_text for each in pages]))
    expected = {
        (pages[left].url, pages[right].url): theirs[left, right]
        for right in range(len(pages))
        for left in range(right)
        if theirs[left, right] >= 0.99
    }
    scores = list(score_pairs(pages))
    found = [score for score in scores if score[2] >= 0.99]
    place = {each.url: n for n, each in enumerate(pages)}

    assert all(0 <= score <= 1 and place[left] < place[right] for left, right, score in scores)
    assert {score[:2]: score[2] for score in found} == pytest.approx(expected, abs=1e-6)
    assert len(found) == len(expected)


def test_scores_grow_with_the_pages_not_with_their_square() -> None:
    """
    3,000 pages found on one page make 4.5 million pairs; of equal or nearly equal ones each page is paired with up to
    50 before it, and of different ones with four on average.
    """
    equal = [found_page(f"p{n}", "the same words on all pages") for n in range(3_000)]
    similar = [found_page(f"p{n}", "many shared words " * 200 + f" counter{n}") for n in range(3_000)]
    different = [found_page(f"p{n}", " ".join(f"own{n}x{m}" for m in range(5))) for n in range(3_000)]

    for pages in (equal, similar):
        n_partners = Counter(right for _, right, _ in score_pairs(pages))
        assert set(n_partners.values()) == set(range(1, PARTNERS_PER_PAGE + 1))
        assert n_partners[pages[-1].url] == PARTNERS_PER_PAGE
        assert len(n_partners) == 3_000 - 3_000 // PART_PAGES
    assert 3.5 * 3_000 < len(list(score_pairs(different))) < 4.5 * 3_000


def test_texts_without_words_are_no_duplicates() -> None:
    """Equal texts without a word have a cosine of 0, as in scikit-learn, so they never count as duplicates."""
    assert {score for _, _, score in score_pairs([found_page(f"p{n}", "...") for n in range(60)])} == {0.0}


@pytest.mark.parametrize(("n_pages", "share"), [(100, 0.05), (161, 0.05), (801, 0.01)])
def test_the_sample_has_the_stated_ratio(n_pages: int, share: float) -> None:
    """The stated share of pairs below 0.99, including copies of texts, is returned, within four deviations."""
    assert sampled_share(n_pages) == pytest.approx(share)
    pages = [found_page(f"p{n}", f"own{n // 2} shared") for n in range(n_pages)]
    n_pairs = n_pages * (n_pages - 1) // 2 - n_pages // 2
    n_sampled = sum(score < 0.99 for _, _, score in score_pairs(pages))

    assert n_sampled == pytest.approx(share * n_pairs, abs=4 * (share * n_pairs) ** 0.5)


def test_the_sample_is_the_same_each_time() -> None:
    """The same pages give the same scores."""
    pages = [found_page(f"p{n}", f"own{n} shared") for n in range(80)]

    assert list(score_pairs(pages)) == list(score_pairs(pages))


def duplicates(pages: list[LabelledPage]) -> set[tuple[str, str]]:
    return {score[:2] for score in score_pairs(pages) if score[2] >= 0.99}


def test_a_very_large_group_is_scored_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group over the limit is split into stretches of consecutive pages."""
    texts = [f"text number{n} of kind{n % 3}" if n % 2 else f"kind{n % 3} again" for n in range(60)]
    pages = [found_page(f"p{n}", text) for n, text in enumerate(texts)]
    whole = duplicates(pages)
    monkeypatch.setattr("dedup_crawler.labels.published.PART_PAGES", 20)
    in_parts = duplicates(pages)

    assert in_parts < whole
    assert in_parts == duplicates(pages[:20]) | duplicates(pages[20:40]) | duplicates(pages[40:])
    assert (START + "p0", START + "p6") in in_parts


@given(st.lists(st.text(min_size=1), min_size=30, max_size=300))
def test_fingerprints_are_those_of_the_package(texts: list[str]) -> None:
    """
    Texts in any script, long words and repeated ones: the value that the package ``simhash`` computes of the words in
    lower case with their counts; fewer than 30 words have none.
    """
    words = split_words(" ".join(texts * 2).lower())
    assert fingerprint(" ".join(texts * 2)) == (Simhash(words).value if len(words) >= 30 else None)


def test_fingerprints_of_long_texts() -> None:
    """Texts of more words than are counted at a time, with more different words than are remembered."""
    words = [f"{n * n} {'long' * 12}{n % 7}" for n in range(110_000)]
    text = " ".join(words)
    assert fingerprint(text) == Simhash(split_words(text)).value


def random_pages(seed: int, n: int) -> list[LabelledPage]:
    """Pages with few different words and titles, found on few pages."""
    draw = random.Random(seed)
    vocabulary = [f"word{i}" for i in range(40)]
    base = [" ".join(draw.choices(vocabulary, k=120)) for _ in range(4)]
    pages = []
    for i in range(n):
        text = draw.choice(base) + " extra" * draw.randint(0, 9)
        made = page(str(i), text, title=draw.choice("AB"))
        referrer = SITE + str(draw.randint(0, 5))
        pages.append(LabelledPage(made.url, referrer, 200, None, made.title, text, made.simhash, None))
    return pages


def connected(pages: list[LabelledPage], are_same: Callable[[LabelledPage, LabelledPage], bool]) -> list[int]:
    """Number of the cluster of each page, if pairs connect pages."""
    sets = DisjointSets(len(pages))
    for (left, one), (right, other) in itertools.combinations(enumerate(pages), 2):
        if are_same(one, other):
            sets.join(left, right)
    return sets.numbers()


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_cosine_is_the_capstones(seed: int) -> None:
    """The clusters are those that a vectoriser per pair connects, within the pages found on one page and that page."""

    def are_same(one: LabelledPage, other: LabelledPage) -> bool:
        if other.referrer not in (one.referrer, one.url) and one.referrer != other.url:
            return False
        counts = CountVectorizer().fit_transform([one.main_text, other.main_text])
        return bool(cosine_similarity(counts)[0, 1] >= 0.99)

    pages = random_pages(seed, 25)
    assert labeller_of("cosine")(lambda: pages).numbers() == connected(pages, are_same)


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_simhash_is_that_of_sigir_2017(seed: int) -> None:
    """The clusters are those that pairs of one title within three bits connect."""

    def are_same(one: LabelledPage, other: LabelledPage) -> bool:
        assert one.simhash is not None
        assert other.simhash is not None
        return one.title == other.title and (one.simhash ^ other.simhash).bit_count() <= 3

    pages = random_pages(seed, 40)
    assert labeller_of("simhash")(lambda: pages).numbers() == connected(pages, are_same)
