"""The labellers of the capstone and of SIGIR 2017, against their own tools and definitions."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from dedup_crawler.errors import BadInputError
from dedup_crawler.labels.joins import DisjointSets
from dedup_crawler.labels.labelling import LABELLERS, cluster_labelled
from dedup_crawler.labels.simhash import hamming_distance
from dedup_crawler.pages.records import LabelledPage
from label_pages import LONG, SITE, TEXT, page, redirect


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


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_cosine_is_the_capstones(seed: int) -> None:
    """The clusters are those that a vectoriser per pair connects, within the pages found on one page and that page."""
    pages = random_pages(seed, 25)
    sets = DisjointSets(len(pages))
    for right, one in enumerate(pages):
        for left, other in enumerate(pages[:right]):
            if one.referrer == other.referrer or one.referrer == other.url or other.referrer == one.url:
                counts = CountVectorizer().fit_transform([one.main_text, other.main_text])
                if cosine_similarity(counts)[0, 1] >= 0.99:
                    sets.join(left, right)

    assert cluster_labelled(pages, "cosine") == sets.numbers()


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_simhash_is_that_of_sigir_2017(seed: int) -> None:
    """The clusters are those that pairs of one title within three bits connect."""
    pages = random_pages(seed, 40)
    sets = DisjointSets(len(pages))
    for right, one in enumerate(pages):
        for left, other in enumerate(pages[:right]):
            assert one.simhash is not None
            assert other.simhash is not None
            if one.title == other.title and hamming_distance(one.simhash, other.simhash) <= 3:
                sets.join(left, right)

    assert cluster_labelled(pages, "simhash") == sets.numbers()


@pytest.mark.parametrize("labeller", list(LABELLERS))
def test_all_join_redirects(labeller: str) -> None:
    """A redirect shows what it leads to, whoever labels; pages without text are alone."""
    pages = [page("", ""), page("a", LONG), redirect("b", "a"), page("c", TEXT), page("d", "")]

    assert cluster_labelled(pages, labeller) == [0, 1, 1, 2, 3]
    assert cluster_labelled([], labeller) == []


def test_an_unknown_labeller() -> None:
    """A name that is no labeller is said, with those that are."""
    with pytest.raises(BadInputError, match="labeller = 'duster' is not known; choose one of default, cosine, simhash"):
        cluster_labelled([], "duster")
