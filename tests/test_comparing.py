"""Words, and when two lists are one list."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.labels.clusters import is_near
from dedup_crawler.labels.comparing import has_words, is_reordered, n_words, word_counts
from dedup_crawler.labels.signatures import Signature
from dedup_crawler.labels.site_pages import SitePages
from label_pages import LONG, TEXT, page


def signature(text: str) -> Signature:
    return SitePages(lambda: [page("a", text)]).signatures[0]


def are_near(left: str, right: str) -> bool:
    return is_near(signature(left), signature(right))


def test_words() -> None:
    """Words are runs of letters, digits and underscores in any script; counting ignores case."""
    assert n_words("It's 42 - été_1!\nЯ") == 5
    assert word_counts("A a b") == {"a": 2, "b": 1}


@given(st.text(st.sampled_from("aB7_ .-\n\t\x1c\x85é²ΣİЯ中\u0307")))
def test_ascii_is_only_faster(text: str) -> None:
    """Whatever mixture of scripts, marks and white space, words are what a pattern finds in the text."""
    assert n_words(text) == len(re.findall(r"\w+", text))
    assert word_counts(text) == Counter(re.findall(r"\w+", text.lower()))
    assert [has_words(text, n) for n in (0, 2)] == [True, n_words(text) >= 2]


def test_nearly_equal_pages() -> None:
    """One or two lines with another number in 300 words are the same page."""
    assert are_near(LONG + "\nviews 17", LONG + "\nviews 18")
    assert are_near(LONG + "\n17\nno", LONG + "\n18\n2")
    assert are_near(LONG, LONG)


def test_too_many_differences_make_another_page() -> None:
    """More than 2 % of the words, or more than two changed lines, or an entry more in a list, are another page."""
    lines = LONG.split("\n")

    assert not are_near(LONG + "\nsome words about this thing", LONG + "\nother words about that thing")
    assert not are_near("\n".join(["new", "newer", "newest", *lines]), "\n".join(["old", "older", "oldest", *lines]))
    assert not are_near(LONG, LONG + "\nentry")
    assert not are_near(LONG, TEXT)


def test_a_sorted_table_is_reordered() -> None:
    """Three rows of name and size, by name and by size, are one list in two orders."""
    rows = ["Files", "a", "30", "b", "10", "c", "20", "end"]

    assert is_reordered(rows, ["Files", "b", "10", "c", "20", "a", "30", "end"])


def test_one_moved_line_is_not_a_reordering() -> None:
    """A mark that stands elsewhere, up or down, says which branch of a tree is open: another page."""
    assert not is_reordered(["x", "mark", "a", "b", "end"], ["x", "a", "b", "mark", "end"])
    assert not is_reordered(["a", "b", "mark"], ["mark", "a", "b"])
