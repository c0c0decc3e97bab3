"""Cosine scores equal to scikit-learn's, of the right pairs, and not too many of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from dedup_crawler.labels.cosine import group_scores, referrer_groups, score_pairs, term_frequencies
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


def test_scores_grow_with_the_pages_not_with_their_square() -> None:
    """
    600 pages found on one page make 180,000 pairs; few of them are stored, whether all are equal, nearly equal, or
    different; copies are each paired with the first.
    """
    equal = [page(f"p{n}", "the same words on all pages") for n in range(600)]
    similar = [page(f"p{n}", "many shared words " * 200 + f" counter{n}") for n in range(600)]
    different = [page(f"p{n}", " ".join(f"own{n}x{m}" for m in range(5))) for n in range(600)]

    assert [score[:2] for score in score_pairs(equal)] == [(START + "p0", START + f"p{n}") for n in range(1, 600)]
    assert 599 <= len(list(score_pairs(similar))) <= 20 * 600
    assert 600 < len(list(score_pairs(different))) < 6 * 600


def test_the_sample_depends_on_the_seed_alone() -> None:
    """The same pages and seed give the same scores; another seed another sample of the pairs below the threshold."""
    pages = [page(f"p{n}", f"own{n} shared") for n in range(80)]

    assert list(score_pairs(pages, seed=1)) == list(score_pairs(pages, seed=1))
    assert list(score_pairs(pages, seed=1)) != list(score_pairs(pages, seed=2))


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group too big for memory is worked through in blocks of rows and gives the same duplicates."""
    generator = np.random.default_rng(0)
    texts = [" ".join(f"w{n}" for n in generator.integers(0, 4, 2)) for _ in range(60)]
    pages = [page(f"p{n}", text) for n, text in enumerate(texts)]
    whole = {score for score in score_pairs(pages) if score[2] >= 0.99}
    monkeypatch.setattr("dedup_crawler.labels.cosine._BLOCK_CELLS", 30)

    assert {score for score in score_pairs(pages) if score[2] >= 0.99} == whole
    assert len(whole) > 20
