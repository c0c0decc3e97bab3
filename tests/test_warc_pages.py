"""From records to pages: referrers, redirects, errors, encodings, dates."""

from __future__ import annotations

import gzip

import pytest

from dedup_crawler.pages.records import Page
from dedup_crawler.pages.warc import RecordReader
from dedup_crawler.pages.warc_pages import PageReader, timestamp
from recordings import SITE, record, request, response


def read(*records: bytes, start: int = 0) -> list[Page]:
    return list(PageReader(RecordReader([b"".join(records)], pytest.fail), pytest.fail, start))


def test_a_page_has_all_that_was_recorded():
    """Status, content type, decoded body, date and URL of one response."""
    raw = response(
        f"<{SITE}/a b[1]>",
        gzip.compress(b"gone", mtime=0),
        "410 Gone",
        {"Content-Encoding": "gzip"},
        WARC_Date="2026-11-21T07:22:26.5Z",
    )
    assert read(raw) == [
        Page(f"{SITE}/a b[1]", 410, None, None, "text/html", b"gone", fetched_at=1795245746.5),
    ]


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
@pytest.mark.parametrize("linked", ["response", "request", "neither"])
def test_the_referrer_comes_from_the_request(order: list[int], linked: str):
    """Before or after its response; linked by WARC-Concurrent-To in either record, or by the URL alone."""
    url, referrer = f"{SITE}/child", f"{SITE}/parent"
    links = {"response": "<urn:uuid:1>", "request": "<urn:uuid:2>"}
    answer = response(
        url,
        WARC_Record_ID=links["response"],
        **({"WARC_Concurrent_To": links["request"]} if linked == "response" else {}),
    )
    question = request(
        url,
        referrer,
        WARC_Record_ID=links["request"],
        **({"WARC_Concurrent_To": links["response"]} if linked == "request" else {}),
    )
    other = request(f"{SITE}/other", f"{SITE}/wrong") + response(f"{SITE}/other")
    records = [[answer, question][i] for i in order]
    assert [(page.url, page.referrer) for page in read(*records, other)] == [
        (url, referrer),
        (f"{SITE}/other", f"{SITE}/wrong"),
    ]


def test_pages_without_requests_come_out_in_order():
    """A WARC of responses only loses nothing and keeps its order; neither does one with late requests."""
    urls = [f"{SITE}/{i}" for i in range(20)]
    assert [page.url for page in read(*map(response, urls))] == urls
    late = [response(url) for url in urls] + [request(url, f"{SITE}/p") for url in urls]
    assert [page.url for page in read(*late)] == urls


@pytest.mark.parametrize(
    ("status", "location", "target"),
    [
        ("301 Moved", "/b?c=1#d", f"{SITE}/b?c=1#d"),
        ("302 Found", "//other.example/", "https://other.example/"),
        ("303 See Other", "", None),
        ("307 Temporary Redirect", "http://[broken/", "http://[broken/"),
        ("308 Permanent Redirect", "../\u00e9", f"{SITE}/\u00e9"),
        ("201 Created", "/b", None),
    ],
)
def test_redirects_have_an_absolute_target(status: str, location: str, target: str | None):
    """Relative, protocol-relative, empty, broken and non-ASCII locations; only a 3xx redirects."""
    [page] = read(response(f"{SITE}/x/a", status=status, headers={"Location": location}))
    assert page.redirect_to == target
    assert page.status == int(status[:3])


def test_what_is_no_page_is_skipped():
    """Other record types, other methods than GET, other schemes: none is a page, none is damage."""
    skipped = [
        record("warcinfo", b"software: x"),
        record("revisit", b"HTTP/1.1 200 OK\r\n\r\n", WARC_Target_URI=SITE),
        record("resource", b"x", WARC_Target_URI=SITE),
        record("response", b"20260101 a 127.0.0.1", WARC_Target_URI="dns:forum.example.org"),
        request(f"{SITE}/login", method="POST", WARC_Record_ID="<urn:a>"),
        response(f"{SITE}/login", WARC_Concurrent_To="<urn:a>"),
        response(f"{SITE}/form", WARC_Record_ID="<urn:b>"),
        request(f"{SITE}/form", method="HEAD", WARC_Concurrent_To="<urn:b>"),
        record("unheard-of", b""),
        record("metadata", b""),
    ]
    assert [page.url for page in read(*skipped, response(SITE))] == [SITE]


def test_a_response_without_http_is_damage():
    """No status line, a status beyond HTTP, no URL: reported with the offset of the record."""
    bad = [
        record("response", b"<html>", WARC_Target_URI="http://a/1"),
        response("http://a/2", status="999 Linkedin"),
        response(""),
    ]
    damage: list[tuple[int, str]] = []
    records = RecordReader([b"".join(bad)], pytest.fail)
    assert list(PageReader(records, lambda offset, reason: damage.append((offset, reason)))) == []
    assert [offset for offset, _ in damage] == [0, len(bad[0]), len(bad[0] + bad[1])]
    assert ["http://a/1" in damage[0][1], "http://a/2" in damage[1][1], "WARC-Target-URI" in damage[2][1]] == [True] * 3


def test_reading_can_go_on_at_any_position():
    """From each position the reader had, the pages that it had not given out yet follow, with their referrers."""
    raw = b"".join(response(f"{SITE}/{i}") + request(f"{SITE}/{i}", f"{SITE}/p{i}") for i in range(6))
    whole = read(raw)
    reader = PageReader(RecordReader([raw], pytest.fail), pytest.fail)
    for n_seen, _ in enumerate(reader, 1):
        assert read(raw, start=reader.position) == whole[n_seen:]
    assert reader.position == reader.n_records == 12


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01T00:01:00.123456789Z", 60.123456789),
        ("1970-01-01T00:01", 60.0),
        ("1970-01-01T00:00:00+00:00", 0.0),
        ("1970-13-01T00:00:00Z", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates(date: str, expected: float | None):
    """ISO 8601 in UTC with any number of decimals; anything else is no date."""
    assert timestamp(date) == expected
