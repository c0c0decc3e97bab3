"""The normal form of a URL."""

import pytest
from hypothesis import given
from w3lib.url import canonicalize_url

from dedup_crawler.urls.normal import host_of, normal_form
from url_strategies import urls


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTP://Forum.Example/", "http://forum.example/"),
        ("http://forum.example", "http://forum.example/"),
        ("http://forum.example?a=1", "http://forum.example/?a=1"),
        ("http://forum.example:80/a", "http://forum.example/a"),
        ("https://forum.example:443/a", "https://forum.example/a"),
        ("https://forum.example:80/a", "https://forum.example:80/a"),
        ("http://forum.example:/a", "http://forum.example/a"),
        ("http://forum.example:0080/a", "http://forum.example/a"),
        ("http://127.0.0.1:8000/a", "http://127.0.0.1:8000/a"),
        ("http://[::1]:80/a", "http://[::1]/a"),
        ("http://forum.example/a#top", "http://forum.example/a"),
        ("http://forum.example/%7euser/%c3%a9", "http://forum.example/~user/%C3%A9"),
        ("http://forum.example/a b", "http://forum.example/a%20b"),
        ("http://forum.example/é", "http://forum.example/%C3%A9"),
        ("http://müller.example/", "http://xn--mller-kva.example/"),
        ("  http://forum.example/a\n", "http://forum.example/a"),
        ("http://forum.example/100%", "http://forum.example/100%25"),
        ("http://forum.example/%%341", "http://forum.example/%2541"),
        ("http://Me:Pw@Forum.Example/", "http://Me:Pw@forum.example/"),
        ("http://forum.example/A?B=C", "http://forum.example/A?B=C"),
        ("http://forum.example/a\x00b", "http://forum.example/a%00b"),
        ("http://forum.example/a//b/./c", "http://forum.example/a//b/./c"),
        ("http://forum.example/?q=has%3Acheck&n[]=1", "http://forum.example/?q=has:check&n[]=1"),
        ("http://forum.example/?q=a%2fb%3F&n%5B%5D=1", "http://forum.example/?q=a/b?&n[]=1"),
        ("http://forum.example/Talk%3AA%2C_b_%28c%29", "http://forum.example/Talk:A,_b_(c)"),
        ("http://forum.example/a%2Fb%3Fc%3Bd%5B", "http://forum.example/a%2Fb%3Fc%3Bd%5B"),
        ("http://forum.example/?q=a%26b%3Dc%2Bd%3Be%23f%25", "http://forum.example/?q=a%26b%3Dc%2Bd%3Be%23f%25"),
        ("http://Me%3A:Pw%40@forum.example/", "http://Me%3A:Pw%40@forum.example/"),
        ("mailto:someone", "mailto:someone"),
        ("", ""),
    ],
)
def test_writes_what_the_standard_calls_equal_in_one_way(url, expected):
    """Each line is a spelling that RFC 3986 calls equal, or one that must stay."""
    assert normal_form(url) == expected


@given(urls)
def test_is_idempotent_and_ascii_for_every_string(url):
    """No string raises, and the normal form of a normal form is itself, by the fast pattern and by the slow way."""
    form = normal_form(url)

    assert form.isascii()
    assert normal_form(form) == normal_form(f"{form}#") == form


def test_takes_linear_time_on_hostile_input():
    """A long URL that almost matches the fast pattern takes no exponential time."""
    url = "http://forum.example/" + "a%3B" * 50_000 + "\ud800"

    assert normal_form(url).endswith("a%3B%ED%A0%80")


@pytest.mark.parametrize("where", ["/a{}b", "/a?q=x{}y", "/a?x{}y=q"])
@pytest.mark.parametrize("character", "!$'()*,:@/?[];=&+~")
def test_what_is_one_request_for_scrapy_may_be_one_url(where, character):
    """An escape is only decoded where Scrapy's dupefilter takes both spellings for one request."""
    plain = f"http://forum.example{where.format(character)}"
    escaped = f"http://forum.example{where.format(f'%{ord(character):02X}')}"
    if normal_form(plain) == normal_form(escaped):
        assert canonicalize_url(plain) == canonicalize_url(escaped)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://forum.example/x", "forum.example"),
        ("http://127.0.0.1:8000/x", "127.0.0.1:8000"),
        ("http://me:pw@forum.example/x", "forum.example"),
        ("http://forum.example", "forum.example"),
        ("no url", ""),
    ],
)
def test_names_host_and_port(url, host):
    """Host with port, without user and password; empty for invalid URLs."""
    assert host_of(url) == host
