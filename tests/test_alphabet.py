"""Symbols and their numbers, with the capstone's faults and without."""

from dedup_crawler.networks.alphabet import PADDING, UNKNOWN, Alphabet


def test_the_faulty_count_mixes_three_things_up():
    """The first character, an unknown one and the padding are all 0, as the capstone had it."""
    rows = Alphabet.of(["abc"], 10, is_faulty=True).rows(["ab", "zb", "abc"])

    assert rows.tolist() == [[0, 1, 0], [0, 1, 0], [0, 1, 2]]


def test_the_cured_count_keeps_them_apart():
    """Padding is 0, unknown 1, and what was seen has numbers of its own."""
    rows = Alphabet.of(["abc"], 10).rows(["ab", "zb", "abc"])

    assert rows.tolist() == [[2, 3, PADDING], [UNKNOWN, 3, PADDING], [2, 3, 4]]


def test_what_is_too_long_loses_its_middle():
    """Longer than anything seen is no error."""
    alphabet = Alphabet.of(["abcd"], 10)

    assert alphabet.rows(["abxyzcd"]).tolist() == alphabet.rows(["abcd"]).tolist()
