"""A URL as tokens, and the common end of two URLs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.urls.templates import detokenize, different_starts, split, tokenize
from url_strategies import urls


@pytest.mark.parametrize(
    ("url", "tokens"),
    [
        ("http://a.example/user/123/mike", ["http://a.example", "user", "123", "mike"]),
        ("http://a.example/t/prev.aspx/10135", ["http://a.example", "t", "prev", ".", "aspx", "10135"]),
        ("http://a.example/q?id=7&x=", ["http://a.example", "q", "?", "id", "=", "7", "&", "x", "="]),
        ("http://a.example/", ["http://a.example", ""]),
        ("http://a.example/a//b/", ["http://a.example", "a", "", "b", ""]),
        ("http://a.example/?u=/x", ["http://a.example", "", "?", "u", "=", "", "x"]),
    ],
)
def test_splits_as_the_paper_does(url, tokens):
    """``/`` is removed, dynamic delimiters stay, host and scheme are one token; empty tokens only if needed."""
    assert tokenize(url) == tokens


def test_goes_on_inside_a_token_when_asked():
    """Deep tokens split slugs; the host is never split."""
    assert tokenize("http://my-host.example/7-a_b", deep=True) == ["http://my-host.example", "7", "-", "a", "_", "b"]


@given(urls, st.booleans())
def test_comes_back_exactly(url, deep):
    """Tokens and parts give back every string exactly."""
    assert detokenize(tokenize(url, deep=deep), deep=deep) == url
    assert "".join(split(url, deep=deep)) == url


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
    """Both URLs have a common end after their starts, if starts are returned."""
    left, right = different_starts(one, other)
    if left or right:
        assert one.startswith(left)
        assert other.startswith(right)
        assert one[len(left) :] == other[len(right) :]
