"""A URL as tokens and as a template: function tokens, argument tokens and placeholders; the common end of two URLs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.urls.templates import (
    Templater,
    count_placeholders,
    count_tokens,
    detokenize,
    different_starts,
    split,
    tokenize,
    writer_of,
)
from url_strategies import urls

HOST = "http://a.example"
UUID = "123e4567-e89b-12d3-a456-426614174000"


def test_learns_function_tokens_by_document_frequency():
    """A word in one of a hundred URLs stays; ids, and words of few URLs, do not."""
    crawl = [f"{HOST}/user/{i}/name{i}" for i in range(990)] + [f"{HOST}/about/{i}" for i in range(10)]
    templater = Templater.learn(count_tokens(crawl), min_document_frequency=0.01)

    assert templater.split(f"{HOST}/about/3")[0] == f"{HOST}/about/<arg1>"
    assert templater.split(f"{HOST}/user/3/name3")[0] == f"{HOST}/user/<arg1>/<arg2>"
    rarer = Templater.learn(count_tokens(crawl), min_document_frequency=0.02)
    assert rarer.split(f"{HOST}/about/3")[0] == f"{HOST}/<arg1>/<arg2>"


def test_a_small_crawl_does_not_make_every_token_a_function():
    """For fifty URLs one percent is half a URL, but a token must still be in five."""
    templater = Templater.learn(count_tokens(f"{HOST}/page/{word}" for word in "abcdefgh"))

    assert templater.split(f"{HOST}/page/a")[0] == f"{HOST}/page/<arg1>"


@pytest.mark.parametrize("argument", ["7", "0123456789", "deadbeef42", "9F3C0011", UUID, UUID.upper()])
def test_numbers_hex_and_uuids_are_arguments_however_frequent(argument):
    """Numbers, long hex strings and UUIDs are arguments even if every URL has them."""
    crawl = [f"{HOST}/x/{argument}/{i}" for i in range(200)]

    assert Templater.learn(count_tokens(crawl)).split(crawl[0])[0].startswith(f"{HOST}/x/<arg1>/")


def test_the_same_argument_has_the_same_placeholder():
    """An id that occurs twice is one argument."""
    templater = Templater([HOST, "user", "posts", "of"])

    assert templater.split(f"{HOST}/user/7/posts?of=7") == (f"{HOST}/user/<arg1>/posts?of=<arg1>", ("7",))


@pytest.mark.parametrize(
    "slug", ["a-title", "a-much-longer-title-with-11-words-and-a-number-in-it", "title", "how-do-i-write-this"]
)
def test_deep_templates_hold_slugs_of_any_length(slug):
    """For any length of slugs, with some frequent words, a topic has one template."""
    deep = Templater([HOST, "topic"], ["how", "do", "i", "write", "this"], deep=True)

    assert deep.split(f"{HOST}/topic/42-{slug}") == (f"{HOST}/topic/<num1>-<any2>", ("42", slug))


def test_deep_templates_hold_paths_of_any_depth():
    """Neighbouring argument tokens are one argument, so that a tree has one template; numbers stay apart."""
    deep = Templater([HOST, "pub", "html"], deep=True)

    assert deep.split(f"{HOST}/pub/a/b/c.html") == (f"{HOST}/pub/<path1>.html", ("a/b/c",))
    assert deep.split(f"{HOST}/pub/a/b/c/d/e.html")[0] == f"{HOST}/pub/<path1>.html"
    assert deep.split(f"{HOST}/pub/a.html")[0] == f"{HOST}/pub/<any1>.html"
    assert deep.split(f"{HOST}/pub/a/7/c/") == (f"{HOST}/pub/<any1>/<num2>/<any3>/", ("a", "7", "c"))


def test_deep_templates_say_what_a_number_is():
    """``page=1`` and ``page=2`` have two templates: the first is often a default, the second never."""
    deep = Templater([HOST, "list", "page"], deep=True)

    assert deep.split(f"{HOST}/list?page=1")[0] == f"{HOST}/list?page=<one1>"
    assert deep.split(f"{HOST}/list?page=2")[0] == f"{HOST}/list?page=<num1>"
    assert deep.split(f"{HOST}/list/{UUID}")[0] == f"{HOST}/list/<hex1>"


@given(st.lists(urls, min_size=1, max_size=4), st.booleans(), st.data())
def test_template_and_arguments_give_back_every_url(crawl, deep, data):
    """For any function tokens, splitting and joining is lossless, and placeholders are numbered from 1."""
    counts = count_tokens(crawl)
    known = st.sets(st.sampled_from([*counts.tokens, *counts.words, "<arg1>", "7"]))
    templater = Templater(data.draw(known), data.draw(known), deep=deep)
    for url in crawl:
        template, arguments = templater.split(url)

        assert writer_of(template)(*arguments) == url
        assert count_placeholders(template) == len(arguments)


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
