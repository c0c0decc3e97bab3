"""Recorded URLs under a loopback address: exact first, equivalent spellings next, links rewritten and no others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from w3lib.url import safe_url_string

from dedup_crawler.pages.serving.urls import ServedUrls

ADDRESS = "http://127.0.0.1:8000"


def served(*urls: str, host: str | None = None) -> ServedUrls:
    return ServedUrls(urls, ADDRESS, host)


@pytest.mark.parametrize(
    ("recorded", "requested"),
    [
        ("https://a.example", "/"),
        ("https://a.example/", "/"),
        ("https://a.example?q=1", "/?q=1"),
        ("https://a.example:443/x", "/x"),
        ("HTTPS://A.example/x", "/x"),
        ("https://a.example/x#top", "/x"),
        ("https://a.example/a b", "/a%20b"),
        ("https://a.example/a%20b", "/a b"),
        ("https://a.example/?x[]=1&y={2}|3", "/?x%5b%5d=1&y=%7B2%7D%7C3"),
        ("https://a.example/\u4e2d", "/%E4%B8%AD"),
        ("https://a.example/%e4%b8%ad", "/%E4%B8%AD"),
        ("https://a.example/%7Euser?q='x'", "/~user?q=%27x%27"),
        ("https://a.example//double//slash", "//double//slash"),
        ("https://a.example/100%", "/100%"),
    ],
)
def test_a_request_finds_what_was_recorded(recorded: str, requested: str):
    """Whatever spelling the client uses, and however the recorder wrote the origin."""
    urls = served(recorded)
    assert urls.find(requested) == recorded
    assert urls.recorded(ADDRESS + requested) == recorded


@pytest.mark.parametrize(
    ("recorded", "requested"),
    [
        ("/a/b", "/a%2Fb"),
        ("/?a=1&b", "/?a=1%26b"),
        ("/a", "/A"),
        ("/?a=1+2", "/?a=1%202"),
        ("/?a=1%2B2", "/?a=1+2"),
        ("/a", "/a/"),
        ("/?a&b", "/?b&a"),
        ("/a", "/a?"),
        ("/%2541", "/%41"),
    ],
)
def test_what_means_something_else_is_not_found(recorded: str, requested: str):
    """Escapes that keep two URLs apart, case, slashes, plus signs and order stay."""
    assert served("https://a.example" + recorded).find(requested) is None


def test_the_exact_spelling_wins():
    """A site may answer differently to two spellings; each keeps its own answer."""
    urls = served("http://a.example/a%20b", "http://a.example/a b", "http://a.example/a%20%62")
    for target in ("/a b", "/a%20b", "/a%20%62"):
        assert urls.find(target) == "http://a.example" + target


def test_the_host_with_most_urls_is_served():
    """Other hosts are not, unless they are asked for; a host that is not there names those that are."""
    recorded = ["http://cdn.example/x", "https://a.example/1", "http://a.example/2", "https://a.example/3", "dns:a"]
    urls = served(*recorded)
    assert (urls.host, urls.origin, urls.n_urls) == ("a.example", "https://a.example", 3)
    assert served(*recorded, host="CDN.example").origin == "http://cdn.example"
    with pytest.raises(LookupError, match=r"no page of b\.example, only of a\.example, cdn\.example"):
        served(*recorded, host="b.example")
    with pytest.raises(LookupError, match="no page"):
        served("dns:a")


def test_links_to_the_host_lead_to_the_address():
    """http, https and protocol-relative, in any case, ended by / ? # a quote or the end; no other host is touched."""
    body = b"""
        <a href="https://a.example/x">1</a> <a href='http://a.example'>2</a> <a href=//A.example?y>3</a>
        <a href="HTTPS://a.example:443/z">4</a> <a href="https://a.example#t">5</a>
        <a href="https://a.example.evil/">6</a> <a href="https://sub.a.example/">7</a> <a href="https://a.example:8080/">8</a>
        <a href="https://b.example/?to=http%3A//a.example/">9</a> <a href="/a.example/">10</a> https://a.example"""
    assert (
        served("https://a.example/").serve_links(body)
        == b"""
        <a href="http://127.0.0.1:8000/x">1</a> <a href='http://127.0.0.1:8000'>2</a> <a href=http://127.0.0.1:8000?y>3</a>
        <a href="http://127.0.0.1:8000/z">4</a> <a href="http://127.0.0.1:8000#t">5</a>
        <a href="https://a.example.evil/">6</a> <a href="https://sub.a.example/">7</a> <a href="https://a.example:8080/">8</a>
        <a href="https://b.example/?to=http%3A//a.example/">9</a> <a href="/a.example/">10</a> http://127.0.0.1:8000"""
    )


def test_urls_go_both_ways():
    """Served and back is the recorded URL; URLs of other sites stay."""
    urls = served("https://a.example/a b?c#d")
    assert urls.served("https://a.example/a b?c#d") == ADDRESS + "/a b?c#d"
    assert urls.served("http://a.example") == ADDRESS
    assert urls.recorded(ADDRESS + "/a%20b?c") == "https://a.example/a b?c#d"
    assert urls.recorded(ADDRESS + "/unknown") == "https://a.example/unknown"
    for other in ("https://b.example/", "https://a.example.evil/", ADDRESS + "0/", "mailto:x", ""):
        assert urls.served(other) == other
        assert urls.recorded(other) == other


@given(st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="#"), max_size=20))
def test_what_scrapy_makes_of_a_link_is_found(path: str):
    """Law: any URL, escaped as Scrapy escapes links, finds the recorded one."""
    urls = served(f"http://a.example/{path}x")  # not ending in a space, which clients take off
    sent = safe_url_string(f"{ADDRESS}/{path}x")
    assert urls.find(sent[len(ADDRESS) :]) is not None
