"""A recording as a live site: real requests on loopback, a real Scrapy crawl, URLs in any spelling."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from w3lib.url import safe_url_string

from dedup_crawler.errors import BadInputError, ServeError
from dedup_crawler.pages.serving import RecordedSite, ServedUrls
from recordings import PYTHON, SITE, request, response

HTML = {"Content-Type": "text/html; charset=utf-8"}
LINKS = f'<a href="{SITE}/b?x=1&amp;y=2">b</a> <a href="/sp ace[1]">c</a> <a href="//forum.example.org/\u00e9">d</a>'
RECORDS = [
    response(f"{SITE}/", LINKS.encode(), headers=HTML),
    response(f"{SITE}/b?x=1&y=2", b"B", headers=HTML),
    response(f"{SITE}/sp ace[1]", f'<a href="{SITE}/moved">m</a><a href="http://elsewhere.example/">x</a>'.encode()),
    response(f"{SITE}/\u00e9", b"E", headers={"Content-Type": "text/html"}),
    response(f"{SITE}/moved", b"", "301 Moved Permanently", {"Location": f"{SITE}/b?x=1&y=2#part"}),
    response(f"{SITE}/away", b"", "302 Found", {"Location": "https://elsewhere.example/?u=\u00e9"}),
    response(f"{SITE}/gone", b"Gone for good", "410 Gone", HTML),
    response(f"{SITE}/picture", SITE.encode() + b"/\0", headers={"Content-Type": "image/png"}),
    response(f"{SITE}/empty", b"", "204 No Content"),
    response(f"{SITE}/same", b"", "304 Not Modified"),
    response(f"{SITE}/large", bytes(range(256)) * 80_000, headers={"Content-Type": "application/x-data"}),
    response("https://elsewhere.example/", b"other site"),
    request(f"{SITE}/b?x=1&y=2", f"{SITE}/"),
]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recording") / "site.warc"
    path.write_bytes(b"".join(RECORDS))
    return path


@pytest.fixture(scope="module")
def site(recording: Path) -> Iterator[RecordedSite]:
    with RecordedSite([recording]) as running:
        yield running


@pytest.fixture
def connection(site: RecordedSite) -> Iterator[http.client.HTTPConnection]:
    client = http.client.HTTPConnection(site.address.removeprefix("http://"), timeout=600)
    yield client
    client.close()


def get(client: http.client.HTTPConnection, target: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    client.request(method, target)
    answer = client.getresponse()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()


def test_it_says_what_it_serves(site: RecordedSite):
    """The host with most URLs, their number, and the URL; on loopback only."""
    assert (site.urls.n_urls, site.urls.origin) == (11, SITE)
    assert site.address.startswith("http://127.0.0.1:")
    assert site.urls.served(f"{SITE}/b?x=1&y=2") == f"{site.address}/b?x=1&y=2"
    assert site.urls.recorded(f"{site.address}/sp%20ace%5B1%5D") == f"{SITE}/sp ace[1]"
    assert site.report.damages.n == 0


def test_answers_are_given_as_recorded(site: RecordedSite, connection: http.client.HTTPConnection):
    """Status, content type and body of pages, redirects, errors and data, over one connection."""
    status, headers, body = get(connection, "/")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert body.decode() == LINKS.replace(SITE, site.address).replace("//forum.example.org", site.address)
    assert get(connection, "/b?x=1&y=2")[2] == b"B"
    assert get(connection, "/gone")[::2] == (410, b"Gone for good")
    assert get(connection, "/picture")[2] == SITE.encode() + b"/\0"
    assert get(connection, "/empty")[::2] == (204, b"")
    assert get(connection, "/same")[::2] == (304, b"")
    assert len(get(connection, "/large")[2]) == 256 * 80_000
    status, headers, body = get(connection, "/moved")
    assert (status, headers["location"], body) == (301, f"{site.address}/b?x=1&y=2#part", b"")
    assert get(connection, "/away")[1]["location"] == "https://elsewhere.example/?u=%C3%A9"


def test_what_was_not_recorded_is_a_plain_404(connection: http.client.HTTPConnection):
    """Unknown paths, an unrecorded robots.txt, pages of other hosts, another order of the query."""
    for target in ("/unknown", "/robots.txt", "/b?y=2&x=1", "/b"):
        status, headers, body = get(connection, target)
        assert (status, headers["content-type"], len(body) < 100) == (404, "text/plain; charset=utf-8", True)


def test_head_tells_what_get_would(connection: http.client.HTTPConnection):
    """The same status and headers, no body, and the connection stays open."""
    for target in ("/", "/moved", "/unknown"):
        left, right = get(connection, target, "HEAD"), get(connection, target)
        assert left[2] == b""
        assert (left[0], left[1].get("content-length")) == (right[0], right[1].get("content-length"))
    assert get(connection, "/", "DELETE")[0] == 501


def test_broken_requests_do_not_end_the_site(site: RecordedSite, connection: http.client.HTTPConnection):
    """Garbage, half a request, a client that disconnects, an endless line: the next client is served."""
    port = int(site.address.rpartition(":")[2])
    for raw in (
        b"\0\xff\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost",
        b"GET /large HTTP/1.1\r\n\r\n",
        b"GET /" + b"x" * 70_000,
        b"",
    ):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(raw)
    assert get(connection, "/b?x=1&y=2")[2] == b"B"


def test_many_connections_at_once(site: RecordedSite):
    """Forty clients, each with several requests on one connection, all get their pages."""
    failures: list[object] = []

    def ask() -> None:
        client = http.client.HTTPConnection(site.address.removeprefix("http://"), timeout=600)
        answers = [get(client, target)[::2] for target in ("/b?x=1&y=2", "/gone", "/unknown") * 5]
        client.close()
        if answers[:2] != [(200, b"B"), (410, b"Gone for good")]:
            failures.append(answers)

    threads = [threading.Thread(target=ask) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_another_recorded_host_can_be_served(recording: Path):
    """host= chooses; the error for an unrecorded one names the recorded ones."""
    site = RecordedSite([recording], host="elsewhere.example")
    site.close()
    assert (site.urls.n_urls, site.urls.origin) == (1, "https://elsewhere.example")
    with pytest.raises(ServeError, match=r"no page of no\.example, only of elsewhere\.example, forum\.example\.org"):
        RecordedSite([recording], host="no.example")


def test_what_cannot_be_served_is_one_line(tmp_path: Path, site: RecordedSite, recording: Path):
    """No response in the recording, a port that is taken, out of range or forbidden, no file."""
    empty = tmp_path / "empty.warc"
    empty.write_bytes(request(SITE))
    with pytest.raises(ServeError, match=r"nothing to serve in .*empty\.warc"):
        RecordedSite([empty])
    port = int(site.address.rpartition(":")[2])
    for bad_port in (port, 70_000, -1):
        with pytest.raises(ServeError, match=f"port {bad_port} of 127.0.0.1"):
            RecordedSite([recording], port=bad_port)
    with pytest.raises(BadInputError, match="there is no file"):
        RecordedSite([tmp_path / "no.warc"])


def test_closing_ends_connections_and_frees_the_port(recording: Path):
    """Closing does not wait for connected clients, and the port is free again."""
    site = RecordedSite([recording])
    port = int(site.address.rpartition(":")[2])
    with site:
        client = http.client.HTTPConnection("127.0.0.1", port)
        get(client, "/")
    client.close()
    with RecordedSite([recording], port=port) as again:
        assert again.address == site.address


def test_a_real_crawl_finds_every_page(site: RecordedSite, tmp_path: Path):
    """Scrapy follows the links in its own spelling, with spaces, brackets and accents, and stays on loopback."""
    code = f"""
        import scrapy
        class Walk(scrapy.Spider):
            name = "walk"
            start_urls = ["{site.address}/"]
            def parse(self, response):
                yield {{"url": response.url, "status": response.status}}
                yield from response.follow_all(css="a[href]")
    """
    (tmp_path / "walk.py").write_text(textwrap.dedent(code))
    command = [PYTHON[0], "-m", "scrapy", "runspider", "walk.py", "-o", "pages.json", "-s", "LOG_LEVEL=ERROR"]
    subprocess.run([*command, "-s", "TELNETCONSOLE_ENABLED=0"], cwd=tmp_path, check=True, timeout=600)
    pages = json.loads((tmp_path / "pages.json").read_text())
    found = {site.urls.recorded(page["url"]) for page in pages if page["status"] == 200}
    assert found == {f"{SITE}/", f"{SITE}/b?x=1&y=2", f"{SITE}/sp ace[1]", f"{SITE}/\u00e9"}


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
    """For any spelling of the client, and of the recorded origin."""
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
    """Significant escapes, case, slashes, plus signs and order stay."""
    assert served("https://a.example" + recorded).find(requested) is None


def test_the_exact_spelling_wins():
    """A site may answer differently to two spellings; each keeps its own answer."""
    urls = served("http://a.example/a%20b", "http://a.example/a b", "http://a.example/a%20%62")
    for target in ("/a b", "/a%20b", "/a%20%62"):
        assert urls.find(target) == "http://a.example" + target


def test_the_host_with_most_urls_is_served():
    """Another host is served only if it is asked for."""
    recorded = ["http://cdn.example/x", "https://a.example/1", "http://a.example/2", "https://a.example/3", "dns:a"]
    urls = served(*recorded)
    assert (urls.host, urls.origin, urls.n_urls) == ("a.example", "https://a.example", 3)
    assert served(*recorded, host="CDN.example").origin == "http://cdn.example"


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
    urls = served(f"http://a.example/{path}x")  # not ending in a space, which clients remove
    sent = safe_url_string(f"{ADDRESS}/{path}x")
    assert urls.find(sent[len(ADDRESS) :]) is not None
