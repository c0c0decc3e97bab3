"""A URL as tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.urls.tokens import detokenize, split, tokenize
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
    """``/`` is left out, dynamic delimiters stay, host and scheme are one token; empty tokens only where needed."""
    assert tokenize(url) == tokens


def test_goes_on_inside_a_token_when_asked():
    """Deep tokens split slugs; the host is never split."""
    assert tokenize("http://my-host.example/7-a_b", deep=True) == ["http://my-host.example", "7", "-", "a", "_", "b"]


@given(urls, st.booleans())
def test_comes_back_exactly(url, deep):
    """Tokens and pieces give back every string, to the letter."""
    assert detokenize(tokenize(url, deep=deep), deep=deep) == url
    assert "".join(split(url, deep=deep)) == url
