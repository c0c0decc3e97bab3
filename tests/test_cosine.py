"""Cosine scores equal to scikit-learn's, of the right pairs, and not too many of them."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from dedup_crawler.labels.cosine import (
    PART_PAGES,
    PARTNERS_PER_PAGE,
    duplicate_groups,
    group_scores,
    referrer_groups,
    sampled_share,
    score_pairs,
    term_frequencies,
)
from dedup_crawler.pages.records import LabelledPage

START = "http://site.example/"
WORDS = st.lists(st.sampled_from(["Ant", "bee", "CAT", "don't", "x", "écoute", "42", "_"]), min_size=1, max_size=12)


def page(path: str, text: str, referrer: str | None = START) -> LabelledPage:
    return LabelledPage(START + path, referrer, 200, None, "title", text, None, None)


@given(st.lists(WORDS.map(" ".join), min_size=1, max_size=6))
def test_equals_a_vectoriser_for_each_pair(texts: list[str]) -> None:
    """Each score is what the capstone's way gives: a CountVectorizer fitted on just the two texts, then a cosine."""
    ours = group_scores(term_frequencies(texts))

    for left, one in enumerate(texts):
        for right, other in enumerate(texts):
            try:
                counts = CountVectorizer().fit_transform([one, other])
            except ValueError:  # no words at all
                theirs = 0.0
            else:
                theirs = cosine_similarity(counts)[0, 1]
            assert ours[left, right] == pytest.approx(theirs, abs=1e-6)


def test_a_text_without_words_is_like_nothing() -> None:
    """Two texts without words have score 0, not 1, and not NaN."""
    assert group_scores(term_frequencies(["", "...", ""])).tolist() == [[0.0] * 3] * 3


def test_a_group_is_a_page_and_what_was_found_on_it() -> None:
    """The referrer belongs to its group where it was crawled and has text; pages without text are in no group."""
    pages = [page("", "one two", None), page("a", "three"), page("empty", ""), page("b", "x", START + "a")]
    pages += [page("c", "y", "http://other.example/"), page("d", "z", "http://other.example/")]

    assert [group.tolist() for group in referrer_groups(pages)] == [[0, 1], [1, 3], [4, 5]]


def test_all_duplicates_are_scored() -> None:
    """
    Among hundreds of different pages on one list every near-duplicate pair is found, however rare, and each score is
    between 0 and 1 with the earlier page first.
    """
    texts = [f"body number{n} " + "shared words here " * 3 + f"own{n} " * 9 for n in range(150)]
    texts[140] = texts[3]
    texts[120] = texts[5] + " once" * 1
    scores = list(score_pairs([page(f"p{n}", text) for n, text in enumerate(texts)]))
    found = {(left.rpartition("p")[2], right.rpartition("p")[2]): score for left, right, score in scores}

    assert found["3", "140"] == 1.0
    assert 0.99 <= found["5", "120"] < 1
    assert sum(score >= 0.99 for score in found.values()) == 2
    assert all(0 <= score <= 1 and int(left) < int(right) for (left, right), score in found.items())


@given(st.lists(st.integers(0, 5), min_size=2, max_size=40), st.integers(1, 60))
def test_every_duplicate_pair_is_scored(copies: list[int], first: int) -> None:
    """
    In a group of up to 51 duplicates every pair that scikit-learn gives 0.99 or more is there once, with that score:
    equal texts, nearly equal ones, and copies of either, in whatever order; no other pair has such a score.
    """
    texts = ["", "one two", "one three", *("shared " * 30 + f"own{n} " * n for n in (0, 1, 2))]
    pages = [page(str(n), "word " + texts[copy]) for n, copy in enumerate(copies, first)]
    theirs = cosine_similarity(CountVectorizer().fit_transform([each.main_text for each in pages]))
    expected = {
        (pages[left].url, pages[right].url): theirs[left, right]
        for right in range(len(pages))
        for left in range(right)
        if theirs[left, right] >= 0.99
    }
    found = [score for score in score_pairs(pages) if score[2] >= 0.99]

    assert {score[:2]: score[2] for score in found} == pytest.approx(expected, abs=1e-6)
    assert len(found) == len(expected)


def test_scores_grow_with_the_pages_not_with_their_square() -> None:
    """
    3,000 pages found on one page make 4.5 million pairs; of equal or nearly equal ones each page is paired with up to
    50 before it, and of different ones with four on average.
    """
    equal = [page(f"p{n}", "the same words on all pages") for n in range(3_000)]
    similar = [page(f"p{n}", "many shared words " * 200 + f" counter{n}") for n in range(3_000)]
    different = [page(f"p{n}", " ".join(f"own{n}x{m}" for m in range(5))) for n in range(3_000)]

    for pages in (equal, similar):
        n_partners = Counter(right for _, right, _ in score_pairs(pages))
        assert set(n_partners.values()) == set(range(1, PARTNERS_PER_PAGE + 1))
        assert n_partners[pages[-1].url] == PARTNERS_PER_PAGE
        assert len(n_partners) == 3_000 - 3_000 // PART_PAGES
    assert 3.5 * 3_000 < len(list(score_pairs(different))) < 4.5 * 3_000


def test_texts_without_words_are_no_duplicates() -> None:
    """Equal texts without a word have a cosine of 0, as scikit-learn says, so they are never given as duplicates."""
    assert {score for _, _, score in score_pairs([page(f"p{n}", "...") for n in range(60)])} == {0.0}


@pytest.mark.parametrize(("n_pages", "share"), [(100, 0.05), (161, 0.05), (801, 0.01)])
def test_the_sample_has_the_stated_ratio(n_pages: int, share: float) -> None:
    """Of the pairs below 0.99, copies of texts among them, the stated share is given, within four deviations."""
    assert sampled_share(n_pages) == pytest.approx(share)
    pages = [page(f"p{n}", f"own{n // 2} shared") for n in range(n_pages)]
    n_pairs = n_pages * (n_pages - 1) // 2 - n_pages // 2
    n_sampled = sum(score < 0.99 for _, _, score in score_pairs(pages))

    assert n_sampled == pytest.approx(share * n_pairs, abs=4 * (share * n_pairs) ** 0.5)


def test_the_sample_depends_on_the_seed_alone() -> None:
    """The same pages and seed give the same scores; another seed another sample of the pairs below the threshold."""
    pages = [page(f"p{n}", f"own{n} shared") for n in range(80)]

    assert list(score_pairs(pages, seed=1)) == list(score_pairs(pages, seed=1))
    assert list(score_pairs(pages, seed=1)) != list(score_pairs(pages, seed=2))


def duplicates(pages: list[LabelledPage]) -> set[tuple[str, str]]:
    return {score[:2] for score in score_pairs(pages) if score[2] >= 0.99}


@pytest.mark.parametrize("limit", [("PART_PAGES", 20), ("PART_WORDS", 21)])
def test_a_very_large_group_is_scored_in_parts(monkeypatch: pytest.MonkeyPatch, limit: tuple[str, int]) -> None:
    """A group over a limit, of pages or of words, gives what its stretches of consecutive pages give as groups."""
    texts = [f"text number{n} of kind{n % 3}" if n % 2 else f"kind{n % 3} again" for n in range(60)]
    pages = [page(f"p{n}", text) for n, text in enumerate(texts)]
    whole = duplicates(pages)
    monkeypatch.setattr(f"dedup_crawler.labels.cosine.{limit[0]}", limit[1])
    in_parts = duplicates(pages)

    assert in_parts < whole
    if limit[0] == "PART_PAGES":
        assert in_parts == duplicates(pages[:20]) | duplicates(pages[20:40]) | duplicates(pages[40:])
    assert (START + "p0", START + "p6") in in_parts


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The capstone's clusters of a group too big for memory are made in blocks of rows, and are the same."""
    generator = np.random.default_rng(0)
    texts = [" ".join(f"w{n}" for n in generator.integers(0, 4, 2)) for _ in range(60)]
    pages = [page(f"p{n}", text) for n, text in enumerate(texts)]
    whole = list(duplicate_groups(pages))
    monkeypatch.setattr("dedup_crawler.labels.cosine._BLOCK_CELLS", 30)

    assert list(duplicate_groups(pages)) == whole
    assert sum(map(len, whole)) > 20


def test_memory_holds_no_texts_and_no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the pages, all with 500 words of their own, take hardly more memory: the counted words are in a file."""
    monkeypatch.setattr("dedup_crawler.labels.vectors.MEMORY_BYTES", 1)
    monkeypatch.setattr("dedup_crawler.labels.vectors.MEMO_SIZE", 1_000)

    def peak(n_pages: int) -> int:
        tracemalloc.start()
        pages = (page(str(n), " ".join(f"w{n}x{m}" for m in range(500)), f"{START}{n // 10}") for n in range(n_pages))
        assert sum(1 for _ in score_pairs(pages)) > n_pages // 10
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(50)
    assert peak(600) - peak(300) < 300 * 1_000  # a page's vector alone has 6,000 bytes
