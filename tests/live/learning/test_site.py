"""Links and sites, as the spider understands them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import HtmlResponse, Response

from dedup_crawler.errors import BadInputError
from dedup_crawler.live.collecting.response_page import absolute_url, redirect_target
from spiders.site import links_of, page_number, site_of, start_url

BASE = "http://forum.example/a/b"


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("c", "http://forum.example/a/c"),
        (" /c\n", "http://forum.example/c"),
        ("?x=1", "http://forum.example/a/b?x=1"),
        ("c?b=2&a=1&b=2", "http://forum.example/a/c?b=2&a=1&b=2"),  # not sorted, not made unique
        ("c#part", "http://forum.example/a/c"),
        ("//other.example/", "http://other.example/"),
        ("/a b", "http://forum.example/a%20b"),
        ("/caf\u00e9", "http://forum.example/caf%C3%A9"),
        ("http://b\u00fccher.example/", "http://xn--bcher-kva.example/"),
        ("HTTP://forum.example/C", "http://forum.example/C"),
        ("mailto:me@forum.example", None),
        ("javascript:void(0)", None),
        ("ftp://forum.example/", None),
        ("http://[broken", None),
    ],
)
def test_absolute_url(link: str, url: str | None):
    """A link stays as published; None if there is nothing to fetch."""
    assert absolute_url(BASE, link) == url


@given(st.text())
def test_no_link_raises(link: str):
    """For any href the crawl goes on, and resolving in two steps gives the same."""
    url = absolute_url(BASE, link)
    if url is not None:
        site_of(url)
        assert absolute_url(BASE, url) == url


def test_links_of_a_page():
    """Links, image maps, frames and meta refresh count, each once, relative to <base>; nofollow is followed."""
    html = b"""<html><head><base href="/d/"><meta http-equiv="refresh" content="0; url=next"></head><body>
    <a href="1?b=1&amp;a=2">1</a><a href="1?b=1&amp;a=2">again</a><a rel="nofollow" href="2">2</a>
    <a name="x">none</a>
    <map><area href="3"></map><iframe src="4"></iframe>
    <img src="no.png"><link rel="canonical" href="no"></body></html>"""
    links = list(links_of(HtmlResponse(BASE, body=html)))
    assert [link.removeprefix("http://forum.example/d/") for link in links] == ["1?b=1&a=2", "2", "3", "4", "next"]
    assert list(links_of(Response(BASE, body=html))) == []


def test_site_is_host_and_port_and_http_may_become_https():
    """The default ports of http and https are one site, any other port is another."""
    assert site_of("http://Forum.example/") == site_of("https://forum.example:443/x") == ("forum.example", 0)
    assert site_of("http://forum.example:8080/") == ("forum.example", 8080)
    assert site_of("http://www.forum.example/") != site_of("http://forum.example/")
    assert site_of("http:///x") is None
    assert site_of("http://forum.example:port/") is None


def test_redirect_target():
    """Absolute, without fragment; only a 3xx with a Location is a redirect."""

    def target(status: int, location: bytes | None) -> str | None:
        return redirect_target(Response(BASE, status=status, headers={"Location": location} if location else {}))

    assert target(301, b"../c#top") == "http://forum.example/c"
    assert target(302, "/caf\u00e9".encode()) == "http://forum.example/caf%C3%A9"
    assert target(302, b"/caf\xe9") == "http://forum.example/caf%C3%A9"
    assert target(302, b"http://[broken") is None
    assert target(302, None) is None
    assert target(201, b"/new") is None


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        (None, "no url was given"),
        ("", "no url was given"),
        ("forum.example", "does not start with http:// or https://"),
        ("ftp://forum.example/", "does not start with http:// or https://"),
        ("http://", "names no host"),
        ("http:///topic", "names no host"),
        ("http://[broken/", "names no host"),
        ("http://forum.example:port/", "names no host"),
        ("http://forum.example/a b", "holds white space"),
    ],
)
def test_a_url_that_cannot_be_crawled(url: str | None, problem: str):
    """The error names the problem and shows a valid value."""
    with pytest.raises(BadInputError, match=problem) as caught:
        start_url(url)
    assert "-a url=https://forum.example.org/" in str(caught.value)


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", ""])
def test_a_number_of_pages_that_is_none(text: str):
    """Zero, negative and no number at all are refused."""
    with pytest.raises(BadInputError, match="no whole number above 0"):
        page_number(text)
    assert page_number("17") == 17
    assert page_number(None) is None
