"""Polite fetching in a separate process: the server's log shows the requests."""

import gzip
import multiprocessing
import os
import signal
import socket
import threading
import time

import pytest

from dedup_crawler.errors import BadInputError, FetchError
from dedup_crawler.pages.fetcher import PoliteFetcher
from live_site import Answer, Site


@pytest.fixture
def site():
    with Site() as running:
        yield running


def test_fetches_what_robots_txt_allows(site):
    """robots.txt is fetched first; forbidden URLs, including wildcards, are never requested."""
    site.robots("/private", "/*?sort=")
    site.page("/a")
    with PoliteFetcher(site.url, delay_s=0) as fetcher:
        assert fetcher.fetch("/a").page.content == site.answers["/a"].body
        for rest in ("/private/x", "/list?sort=asc"):
            answer = fetcher.fetch(rest)
            assert (answer.page, answer.is_forbidden) == (None, True)
        assert fetcher.n_fetches == 1
    assert site.asked == ["/robots.txt", "/a"]


def test_a_site_that_does_not_say_what_it_allows_is_left_alone(site):
    """A server's error, another site's robots.txt, no answer: one line each; without any, everything is allowed."""
    site.page("/a")
    with PoliteFetcher(site.url, delay_s=0) as fetcher:
        assert fetcher.fetch("/a").page.status == 200
    with Site() as elsewhere:
        site.redirect("/robots.txt", f"{elsewhere.url}/robots.txt")
        with pytest.raises(FetchError, match=f"leads to {elsewhere.url}/robots.txt; if that is another site"):
            PoliteFetcher(site.url, delay_s=0)
        assert elsewhere.asked == []
    site.answers["/robots.txt"] = Answer(503)
    with pytest.raises(FetchError, match=r"robots\.txt answered 503"):
        PoliteFetcher(site.url, delay_s=0)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(FetchError, match="did not answer"):
            PoliteFetcher(f"http://127.0.0.1:{unused.getsockname()[1]}")


@pytest.mark.parametrize(("delay_s", "crawl_delay"), [(0.5, 0.1), (0.1, 0.5)])
def test_waits_between_requests_as_long_as_the_site_asks(site, delay_s, crawl_delay):
    """The longer of our delay and its Crawl-delay, also after a redirect."""
    site.answers["/robots.txt"] = Answer(200, body=f"User-agent: *\nCrawl-delay: {crawl_delay}\n".encode())
    site.redirect("/old", "/a")
    site.page("/a")
    with PoliteFetcher(site.url, delay_s=delay_s) as fetcher:
        started = time.monotonic()  # before the first request, because the delay counts from its start
        fetcher.fetch("/a")
        fetcher.fetch("/old")
        fetcher.fetch("/a")
        assert time.monotonic() - started > 3 * 0.5 - 0.05
    assert site.asked[1:] == ["/a", "/old", "/a", "/a"]


def test_redirects_are_followed_on_the_site_only(site):
    """No redirects to another host or port, or in a circle."""
    with Site() as elsewhere, PoliteFetcher(site.url, delay_s=0) as fetcher:
        elsewhere.page("/a")
        site.redirect("/away", f"{elsewhere.url}/a")
        site.redirect("/round", "/round")
        site.redirect("/file", "file:///etc/passwd")
        site.redirect("/near", "a?x=1")
        site.page("/a?x=1")

        assert [fetcher.fetch(rest).page for rest in ("/away", "/round", "/file")] == [None, None, None]
        assert fetcher.fetch("/near").page.url == f"{site.url}/a?x=1"
        assert elsewhere.asked == []
        assert site.count("/round") <= 6


def test_stops_at_the_limit(site):
    """Every request counts, redirects and retries too; robots.txt is not one of them."""
    site.redirect("/old", "/a")
    site.page("/a")
    site.answers["/busy"] = [Answer(503), Answer(body=b"at last")]
    site.answers["/down"] = Answer(503)
    with PoliteFetcher(site.url, delay_s=0, max_fetches=6) as fetcher:
        assert fetcher.fetch("/old").page.status == 200
        assert fetcher.fetch("/busy").page.content == b"at last"
        assert fetcher.fetch("/down").page.status == 503
        assert (fetcher.n_fetches, fetcher.is_spent) == (6, True)
        assert fetcher.fetch("/a").page is None
    assert site.asked[1:] == ["/old", "/a", "/busy", "/busy", "/down", "/down"]


def test_what_is_too_large_is_no_page(site):
    """A too large body is not read to its end, compressed or not; a compressed body is unpacked."""
    site.answers["/large"] = Answer(body=b"x" * 5_000_001)
    site.answers["/packed"] = Answer(headers={"Content-Encoding": "gzip"}, body=gzip.compress(b"hello"))
    site.answers["/bomb"] = Answer(headers={"Content-Encoding": "gzip"}, body=gzip.compress(bytes(50_000_000)))
    with PoliteFetcher(site.url, delay_s=0) as fetcher:
        assert fetcher.fetch("/large").page is None
        assert fetcher.fetch("/bomb").page is None
        assert fetcher.fetch("/packed").page.content == b"hello"


def test_a_server_that_never_ends_is_hung_up_on():
    """A slow drip of bytes keeps every read alive, but not the request; an answer that is no HTTP is no page."""
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    not_found = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    replies = {b"/slow": head, b"/mail": b"SMTP ready\r\n"}
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    reply = replies.get(connection.recv(65536).split(b" ")[1], not_found)
                    try:
                        connection.sendall(reply)
                        while reply == head:
                            connection.sendall(b"x")
                            time.sleep(0.05)
                    except OSError:
                        pass

        threading.Thread(target=serve, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with PoliteFetcher(url, delay_s=0, timeout_s=0.5) as fetcher:
            assert fetcher.fetch("/slow").page is None
            assert fetcher.fetch("/mail").page is None
        server.shutdown(socket.SHUT_RDWR)


def test_a_process_that_died_is_replaced(site):
    """The fetcher is killed: its page is lost, and the next one comes."""
    site.page("/a")
    with PoliteFetcher(site.url, delay_s=0) as fetcher:
        for worker in multiprocessing.active_children():
            os.kill(worker.pid, signal.SIGKILL)
        fetcher.fetch("/a")
        assert fetcher.fetch("/a").page.content == site.answers["/a"].body


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
    """Before any request."""
    with pytest.raises(BadInputError, match=said):
        PoliteFetcher(site, **options)
