"""Polite fetching: the server's log shows the requests."""

import gzip
import socket
import threading
import time

import pytest

from dedup_crawler.errors import BadInputError, DedupError
from dedup_crawler.pages.fetcher import visit_site
from live_site import Answer, Site
from site_visits import FORBIDDEN, fetched


@pytest.fixture
def site():
    with Site() as running:
        yield running


def test_fetches_what_robots_txt_allows(site):
    """robots.txt is fetched first; forbidden URLs, of wildcards and redirects too, are never requested."""
    site.robots("/private", "/*?sort=")
    site.page("/a")
    site.redirect("/old", "/private/x")
    visit = fetched(site.url, "/a", "/private/x", "/list?sort=asc", "/old")

    assert visit.answers[0].content == site.answers["/a"].body
    assert visit.answers[1:] == [FORBIDDEN] * 3
    assert visit.n_fetches == 2
    assert site.asked == ["/robots.txt", "/a", "/old"]


def test_a_site_that_does_not_say_what_it_allows_is_left_alone(site):
    """A server's error, another site's robots.txt, no answer: one line each; without any, everything is allowed."""
    site.page("/a")
    assert fetched(site.url, "/a").answers[0].status == 200
    with Site() as elsewhere:
        site.redirect("/robots.txt", f"{elsewhere.url}/robots.txt")
        with pytest.raises(DedupError, match=f"leads to {elsewhere.url}/robots.txt; if that is another site"):
            fetched(site.url)
        assert elsewhere.asked == []
    site.answers["/robots.txt"] = Answer(503)
    with pytest.raises(DedupError, match=r"robots\.txt answered 503"):
        fetched(site.url)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(DedupError, match="did not answer"):
            fetched(f"http://127.0.0.1:{unused.getsockname()[1]}")


@pytest.mark.parametrize(("delay_s", "crawl_delay"), [(0.5, 0.1), (0.1, 0.5)])
def test_waits_between_requests_as_long_as_the_site_asks(site, delay_s, crawl_delay):
    """The longer of our delay and its Crawl-delay, also after a redirect."""
    site.answers["/robots.txt"] = Answer(200, body=f"User-agent: *\nCrawl-delay: {crawl_delay}\n".encode())
    site.redirect("/old", "/a")
    site.page("/a")
    visit = fetched(site.url, "/a", "/old", "/a", delay_s=delay_s)

    assert visit.seconds > 3 * 0.5 - 0.05
    assert site.asked[1:] == ["/a", "/old", "/a", "/a"]


def test_redirects_are_followed_on_the_site_only(site):
    """No redirects to another host or port, or in a circle."""
    with Site() as elsewhere:
        elsewhere.page("/a")
        site.redirect("/away", f"{elsewhere.url}/a")
        site.redirect("/round", "/round")
        site.redirect("/near", "a?x=1")
        site.page("/a?x=1")
        away, around, near = fetched(site.url, "/away", "/round", "/near").answers

        assert (away, around) == (None, None)
        assert near.url == f"{site.url}/a?x=1"
        assert elsewhere.asked == []
        assert site.count("/round") <= 6


def test_no_file_is_read(site, tmp_path):
    """A redirect to a file is not followed."""
    (tmp_path / "secret").write_text("secret")
    site.redirect("/file", (tmp_path / "secret").as_uri())
    (answer,) = fetched(site.url, "/file").answers

    assert answer is None or (answer.status, answer.content) == (302, b"")


def test_stops_at_the_limit(site):
    """Every request counts, redirects and retries too; robots.txt is not one of them."""
    site.redirect("/old", "/a")
    site.page("/a")
    site.answers["/busy"] = [Answer(503), Answer(body=b"at last")]
    site.answers["/down"] = Answer(503)
    visit = fetched(site.url, "/old", "/busy", "/down", "/a", max_fetches=6)

    assert visit.answers[0].status == 200
    assert visit.answers[1].content == b"at last"
    assert visit.answers[2:] == [None, None]
    assert (visit.n_fetches, visit.is_spent) == (6, True)
    assert site.asked[1:] == ["/old", "/a", "/busy", "/busy", "/down", "/down"]


def test_what_is_too_large_is_no_page(site):
    """A too large body is not read to its end, compressed or not; a compressed body is unpacked."""
    site.answers["/large"] = Answer(body=b"x" * 5_000_001)
    site.answers["/packed"] = Answer(headers={"Content-Encoding": "gzip"}, body=gzip.compress(b"hello"))
    site.answers["/bomb"] = Answer(headers={"Content-Encoding": "gzip"}, body=gzip.compress(bytes(50_000_000)))
    large, bomb, packed = fetched(site.url, "/large", "/bomb", "/packed").answers

    assert (large, bomb) == (None, None)
    assert packed.content == b"hello"


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
        assert fetched(url, "/slow", "/mail", timeout_s=0.5).answers == [None, None]
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("site", ["forum.example", "file:///etc"])
def test_a_site_is_a_url(site):
    """Anything else is refused before any request."""
    with pytest.raises(BadInputError, match="no http or https URL"):
        visit_site(site, None, delay_s=0, max_fetches=1)
