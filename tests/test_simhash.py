"""Fingerprints equal to the PyPI package's, and a search equal to looking at every pair."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simhash import Simhash, SimhashIndex

from costs import at_most
from dedup_crawler.errors import BadInputError, EmptyTextError
from dedup_crawler.labels.joins import DisjointSets
from dedup_crawler.labels.simhash import hamming_distance, near_duplicate_pairs, simhash, simhash_many

FEATURES = st.dictionaries(st.text(max_size=12), st.integers(1, 255), min_size=1, max_size=60)
CLOSE = st.builds(  # values around few centres, so that many are near each other and many are equal
    lambda centre, flips: centre ^ sum({1 << bit for bit in flips}),
    st.sampled_from([0, 2**64 - 1, 0x0F0F_0000_FFFF_1234]),
    st.lists(st.integers(0, 63), max_size=6),
)


def planted(n: int, seed: int = 0) -> np.ndarray:
    """Random fingerprints, a seventh of them few bits away from another one and a few equal to another one."""
    generator = np.random.default_rng(seed)
    values = generator.integers(0, 2**64, n, dtype=np.uint64)
    for copy in range(n // 7):
        for bit in generator.integers(0, 64, generator.integers(0, 5)):
            values[copy] ^= np.uint64(1 << int(bit))
        values[n - 1 - copy] = values[copy]
        values[n - 1 - copy] ^= np.uint64(1 << int(generator.integers(0, 64)))
    values[n // 2 : n // 2 + n // 20] = values[0]
    return values


def closure(n: int, pairs: list[tuple[int, int]]) -> list[int]:
    sets = DisjointSets(n)
    for left, right in pairs:
        sets.join(left, right)
    return sets.numbers()


def brute_force(values: list[int], max_distance: int) -> list[tuple[int, int]]:
    return [
        (left, right)
        for left, right in combinations(range(len(values)), 2)
        if bin(values[left] ^ values[right]).count("1") <= max_distance
    ]


@given(FEATURES)
def test_equals_the_package(weights: dict[str, int]) -> None:
    """For any features and counts the fingerprint is bit for bit that of the PyPI package, an independent opinion."""
    assert simhash(weights) == Simhash(weights).value


@given(st.dictionaries(st.text(max_size=5), st.integers(1, 40).map(lambda n: n / 4), min_size=1, max_size=20))
def test_equals_the_package_with_fractional_weights(weights: dict[str, float]) -> None:
    """Weights need not be counts."""
    assert simhash(weights) == Simhash(weights).value


def test_many_are_one_by_one() -> None:
    """Fingerprinting a list gives what fingerprinting each gives, as unsigned 64-bit integers; it may be empty."""
    texts = [{"a": 1.0, "b": 2.0}, {"a": 1.0}, {"c": 7.0}]

    assert simhash_many(texts).tolist() == [simhash(text) for text in texts]
    assert simhash_many([]).dtype == np.uint64


def test_an_empty_text_has_no_fingerprint() -> None:
    """A page without features is an error, not fingerprint 0, which all empty pages would share."""
    with pytest.raises(EmptyTextError, match="empty text has no fingerprint"):
        simhash({})


def test_hamming_distance_counts_bits() -> None:
    """The distance of complements is 64, of equals 0."""
    assert hamming_distance(0, 2**64 - 1) == 64
    assert hamming_distance(5, 5) == 0
    assert hamming_distance(0b1011, 0b0001) == 2


@given(st.lists(CLOSE, max_size=30), st.integers(0, 7))
def test_search_finds_every_near_pair(values: list[int], max_distance: int) -> None:
    """
    For any distance it finds exactly the near pairs of different values that looking at each pair finds, each by the
    first position of its values, and joins every copy to the first.
    """
    pairs = [tuple(pair) for pair in near_duplicate_pairs(np.array(values, np.uint64), max_distance).tolist()]
    first = {value: position for position, value in reversed(list(enumerate(values)))}
    expected = {
        (left, right) if values[left] != values[right] else (first[values[left]], right)
        for left, right in brute_force(values, max_distance)
        if values[left] == values[right] or (first[values[left]], first[values[right]]) == (left, right)
    }

    assert pairs == sorted(expected)
    assert closure(len(values), pairs) == closure(len(values), brute_force(values, max_distance))


def test_search_has_the_closure_of_the_package() -> None:
    """On random fingerprints with planted near copies the joined sets are those that SimhashIndex leads to."""
    values = [int(value) for value in planted(700)]
    index = SimhashIndex([(str(position), Simhash(value)) for position, value in enumerate(values)], k=3)
    theirs = [(at, int(near)) for at, value in enumerate(values) for near in index.get_near_dups(Simhash(value))]
    ours = near_duplicate_pairs(np.array(values, np.uint64)).tolist()

    assert closure(len(values), ours) == closure(len(values), theirs)
    assert len(ours) > 100


def test_copies_cost_nothing() -> None:
    """300,000 equal fingerprints (a login wall) give one pair each, in a moment: equal values are never compared."""
    with at_most(100):
        pairs = near_duplicate_pairs(np.full(300_000, 7, np.uint64))

    assert len(pairs) == 299_999
    assert set(pairs[:, 0].tolist()) == {0}


@pytest.mark.parametrize("max_distance", [-1, 8])
def test_says_which_distances_can_be_searched(max_distance: int) -> None:
    """A distance out of range names itself and the range."""
    with pytest.raises(BadInputError, match=rf"max_distance = {max_distance}: .* from 0 to 7"):
        near_duplicate_pairs(np.zeros(2, np.uint64), max_distance)
