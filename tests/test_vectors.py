"""Word vectors are kept exactly, in memory or in a file, and compare as scikit-learn's do."""

from __future__ import annotations

import numpy as np
import pytest

from dedup_crawler.labels.vectors import TextVectors, unit_rows, word_vector

TEXTS = ["", "a", "one two two", "Ünïcode words\nand ascii WORDS", "one " * 70_000, " ".join(map(str, range(3_000)))]


@pytest.mark.parametrize("memory", [1, 16_000_000], ids=["file", "memory"])
def test_vectors_come_back_as_they_were_kept(monkeypatch: pytest.MonkeyPatch, memory: int) -> None:
    """In any order and repeatedly, whether the vectors fit into memory or not; single characters are no words."""
    monkeypatch.setattr("dedup_crawler.labels.vectors.MEMORY_BYTES", memory)
    known = [word_vector(text) for text in TEXTS]
    with TextVectors() as file:
        assert [file.number(text) for text in TEXTS] == [file.number(text) for text in TEXTS] == [*range(len(TEXTS))]
        numbers = [5, 0, 3, 3, 4, 1, 2]
        found = file.fetch(numbers)
        sizes = [file.n_words(number) for number in range(len(TEXTS))]

    assert sizes == [0, 0, 2, 4, 1, 2_990]
    for number, vector in zip(numbers, found, strict=True):
        assert np.array_equal(vector.words, known[number].words)
        assert np.array_equal(vector.counts, known[number].counts)


def test_rows_have_length_one() -> None:
    """Rows of texts with words have length 1, those without are zero; no texts give no rows."""
    rows = unit_rows([word_vector(text) for text in TEXTS])

    assert np.asarray(rows.multiply(rows).sum(axis=1)).ravel().tolist() == pytest.approx([0, 0, 1, 1, 1, 1])
    assert unit_rows([]).shape == (0, 1)


def test_a_vector_that_is_given_is_not_counted_again() -> None:
    """What was counted while a page was read stands for its text."""
    with TextVectors() as vectors:
        assert vectors.number("a text", word_vector("other words")) == vectors.number("a text") == 0
        assert vectors.number("one more") == 1
        assert np.array_equal(vectors.fetch([0])[0].words, word_vector("words other").words[::-1])
