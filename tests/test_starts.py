"""Where two addresses that end alike begin to do so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.urls.tokens import different_starts


@pytest.mark.parametrize(
    ("one", "other", "starts"),
    [
        ("/pub/mirrors/a/x.txt", "/mirror/a/x.txt", ("/pub/mirrors/", "/mirror/")),
        ("/people/anna/x", "/~anna/x", ("/people/", "/~")),
        ("/a1/xy", "/b1/xy", ("/a1/", "/b1/")),
        ("/a", "/b", ("", "")),
    ],
)
def test_whole_words_are_compared(one: str, other: str, starts: tuple[str, str]) -> None:
    """The common end begins with a whole token, and the slash before it belongs to the folder."""
    assert different_starts(one, other) == starts


@given(st.text("/ab~.?", max_size=12), st.text("/ab~.?", max_size=12))
def test_what_follows_the_starts_is_the_same(one: str, other: str) -> None:
    """Both addresses end alike behind their starts, if starts are given at all."""
    left, right = different_starts(one, other)
    if left or right:
        assert one.startswith(left)
        assert other.startswith(right)
        assert one[len(left) :] == other[len(right) :]
