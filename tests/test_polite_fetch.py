"""Fetching as a guest, over real connections: the server's own log says what was asked for."""

import gzip
import socket
import threading
import time

import pytest

from dedup_crawler.errors import BadInputError, FetchError
from dedup_crawler.pages import polite_fetch
from dedup_crawler.pages.polite_fetch import PoliteFetcher
from live_site import Answer, Site


@pytest.fixture
def site():
    with Site() as running:
        yield running


def test_fetches_what_robots_txt_allows(site):
    """robots.txt is asked for first; what it forbids, wildcards included, is never asked for."""
    site.robots("/private", "/*?sort=")
    site.page("/a")
    fetcher = PoliteFetcher(site.url, delay_s=0)

    assert fetcher.fetch("/a").content == site.answers["/a"].body
    assert fetcher.fetch("/private/x") is None
    assert fetcher.fetch("/list?sort=asc") is None
    assert fetcher.n_disallowed == 2
    assert site.asked == ["/robots.txt", "/a"]


def test_a_site_that_does_not_say_what_it_allows_is_left_alone(site):
    """An error of the server is one line; no robots.txt at all allows everything."""
    site.page("/a")
    assert PoliteFetcher(site.url, delay_s=0).fetch("/a").status == 200
    site.answers["/robots.txt"] = Answer(503)

    with pytest.raises(FetchError, match=r"robots\.txt answered 503"):
        PoliteFetcher(site.url, delay_s=0)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(FetchError, match="did not answer"):
            PoliteFetcher(f"http://127.0.0.1:{unused.getsockname()[1]}")


def test_waits_between_requests_as_long_as_the_site_asks(site):
    """The longer of our delay and its Crawl-delay, also after a redirect; nothing before the first request."""
    site.answers["/robots.txt"] = Answer(200, body=b"User-agent: *\nCrawl-delay: 7\n")
    site.redirect("/old", "/a")
    site.page("/a")
    waits = []
    fetcher = PoliteFetcher(site.url, delay_s=2, sleep=waits.append)
    for rest in ("/old", "/a"):
        fetcher.fetch(rest)

    assert site.asked == ["/robots.txt", "/old", "/a", "/a"]
    assert [round(wait) for wait in waits] == [2, 7, 7]


def test_redirects_are_followed_on_the_site_only(site):
    """Not to another host, nor another port, nor in a circle."""
    with Site() as elsewhere:
        elsewhere.page("/a")
        site.redirect("/away", f"{elsewhere.url}/a")
        site.redirect("/round", "/round")
        site.redirect("/file", "file:///etc/passwd")
        site.redirect("/near", "a?x=1")
        site.page("/a?x=1")
        fetcher = PoliteFetcher(site.url, delay_s=0)

        assert [fetcher.fetch(rest) for rest in ("/away", "/round", "/file")] == [None, None, None]
        assert fetcher.fetch("/near").url == f"{site.url}/a?x=1"
        assert elsewhere.asked == []
        assert site.count("/round") <= 6


def test_stops_at_the_limit(site):
    """Every request counts, redirects too; robots.txt is not one of them."""
    site.redirect("/old", "/a")
    site.page("/a")
    fetcher = PoliteFetcher(site.url, delay_s=0, max_fetches=3)

    assert fetcher.fetch("/old").status == 200
    assert fetcher.fetch("/a").status == 200
    assert fetcher.is_spent
    assert fetcher.fetch("/a") is None
    assert site.asked.count("/a") == 2


def test_what_is_too_large_is_no_page(site, monkeypatch):
    """Nor is it read to its end; a body that was packed although nobody asked for that is unpacked."""
    monkeypatch.setattr(polite_fetch, "MAX_BYTES", 1000)
    site.answers["/large"] = Answer(body=b"x" * 1001)
    site.answers["/packed"] = Answer(headers={"Content-Encoding": "gzip"}, body=gzip.compress(b"hello"))
    fetcher = PoliteFetcher(site.url, delay_s=0)

    assert fetcher.fetch("/large") is None
    assert fetcher.fetch("/packed").content == b"hello"


N_BYTES = 10_000
"""Sent by a server that has an end after all, so that a test which waits for it ends as well."""


def test_a_server_that_never_ends_is_hung_up_on(monkeypatch):
    """A byte now and then keeps every read alive, but not the request; what is no HTTP is no page."""
    monkeypatch.setattr(polite_fetch, "MAX_SECONDS", 0.5)
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            for reply in (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", head, b"SMTP ready\r\n"):
                connection, _ = server.accept()
                with connection:
                    connection.recv(65536)
                    try:
                        connection.sendall(reply)
                        for _ in range(N_BYTES if reply == head else 0):
                            connection.sendall(b"x")
                            time.sleep(0.05)
                    except OSError:
                        pass

        threading.Thread(target=serve, daemon=True).start()
        fetcher = PoliteFetcher(f"http://127.0.0.1:{server.getsockname()[1]}", delay_s=0)
        slow = fetcher.fetch("/slow")

        assert slow is None or set(slow.content) == {ord("x")}
        assert slow is None or len(slow.content) < N_BYTES
        assert fetcher.fetch("/mail") is None


@pytest.mark.parametrize(
    ("site", "options", "said"),
    [
        ("forum.example", {}, "no http or https URL"),
        ("file:///etc", {}, "no http or https URL"),
        ("http://a.example", {"delay_s": -1}, "delay of -1"),
        ("http://a.example", {"max_fetches": 0}, "0 fetches"),
    ],
)
def test_mistakes_are_named(site, options, said):
    """Before anything is asked for."""
    with pytest.raises(BadInputError, match=said):
        PoliteFetcher(site, **options)
