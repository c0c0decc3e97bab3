"""Items as pages: every field under every name, CSV and JSON of any program, and invalid entries."""

from __future__ import annotations

import csv
import gzip
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl_exports import FROG_COLUMNS, frog_csv, frog_rows, html, scrapy_feed
from dedup_crawler.errors import BadInputError
from dedup_crawler.evidence.labelling import label_store
from dedup_crawler.methods import make_method
from dedup_crawler.methods.model.training_data import training_data
from dedup_crawler.pages.compression import Gap
from dedup_crawler.pages.imports import import_files
from dedup_crawler.pages.items import names_with, read_json_pages, read_table
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.store import PageStore
from planted_site import HOST, session_ids
from repository import CORPORA

CRAWL = session_ids(n_pages=40)
ITEMS = [{"url": url, "body": html(cluster)} for url, cluster in zip(CRAWL.urls, CRAWL.clusters, strict=True)]
ODD = [
    {"url": f"http://a.example/{i}", "body": f'<p class="a\\b">é[{{"]}},\n"{i}"</p>\\', "tags": [1, {"x": "]"}]}
    for i in range(5)
]
FILES = {
    "jsonl": (read_json_pages, scrapy_feed("jsonl", ODD)),
    "json": (read_json_pages, scrapy_feed("json", ODD, 0)),
    "json in a line": (read_json_pages, scrapy_feed("json", ODD)),
    "json, items a line without a line of brackets": (
        read_json_pages,
        json.dumps(ODD).replace("]}, {", "]},\r\n {").encode(),
    ),
    "json in utf-16": (read_json_pages, json.dumps(ODD).encode("utf-16")),
    "csv": (read_table, scrapy_feed("csv", ODD)),
    "frog": (read_table, frog_csv(frog_rows(CRAWL)[:5])),
    "frog with semicolons in utf-16": (read_table, frog_csv(frog_rows(CRAWL)[:5], separator=";", encoding="utf-16")),
}


def read(reader, *chunks, start=0):
    """Return pages, damage, and the number of entries."""
    damage: list[tuple[int, str]] = []
    steps = list(reader(chunks, lambda offset, reason: damage.append((offset, reason)), start, names_with({})))
    return [page for _, page in steps if page is not None], damage, steps[-1][0] if steps else 0


def line(**fields: object) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def imported(tmp_path, content: bytes, name: str = "export", **options):
    path = tmp_path / name
    path.write_bytes(content)
    with PageStore(tmp_path / "crawl.db") as store:
        return import_files([path], store, **options), list(store.pages())


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, Page("http://a/")),
        (
            {"content": "<p>\u00e9"},
            Page("http://a/", content="<p>\u00e9".encode(), content_type="text/html; charset=utf-8"),
        ),
        ({"html": "x"}, Page("http://a/", content=b"x", content_type="text/html; charset=utf-8")),
        ({"body": "x", "html": None}, Page("http://a/", content=b"x", content_type="text/html; charset=utf-8")),
        ({"text": "x"}, Page("http://a/", content=b"x", content_type="text/plain; charset=utf-8")),
        (
            {"content": "\u00e9", "content_type": "application/xhtml+xml; charset=iso-8859-1"},
            Page("http://a/", content=b"\xc3\xa9", content_type="application/xhtml+xml; charset=utf-8"),
        ),
        ({"content": "\ud800"}, Page("http://a/", content=b"?", content_type="text/html; charset=utf-8")),
        ({"referrer": "r"}, Page("http://a/", referrer="r")),
        ({"Referer": "r", "other": [1]}, Page("http://a/", referrer="r")),
        ({"status": 404}, Page("http://a/", 404)),
        ({"status": "404.0"}, Page("http://a/", 404)),  # as pandas writes it where other rows have no status
        ({"Status Code": "404", "Status": "Not Found"}, Page("http://a/", 404)),
        ({"status": "301", "redirect_to": "/b"}, Page("http://a/", 301, redirect_to="http://a/b")),
        ({"fetched_at": 5}, Page("http://a/", fetched_at=5.0)),
        ({"date": "1970-01-01T00:00:07Z"}, Page("http://a/", fetched_at=7.0)),
        ({"fetched_at": "1700000000.5"}, Page("http://a/", fetched_at=1700000000.5)),  # as a CSV has it
        ({"date": "20240115"}, Page("http://a/")),
        ({"date": "never"}, Page("http://a/")),
        ({"hash": "0" * 32, "Word Count": "10"}, Page("http://a/", digest="0" * 32)),
        ({"hash": "0" * 32, "Word Count": "9"}, Page("http://a/")),
    ],
)
def test_fields(fields: dict[str, object], expected: Page):
    """Each field under each of its names; text is stored as UTF-8, and the content type says so."""
    assert read(read_json_pages, line(url="http://a/", **fields)) == ([expected], [], 1)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (b'{"url": "x"', "line 2: "),
        (b"url,content", "line 2: "),
        (b'{"url": "\xff"}', "line 2: 'utf-8' codec"),
        (b"[1]", "line 2: expected an object, not int"),
        (b'{"content": "x"}', "line 2: there is no url or address; fields: content"),
        (b'{"url": ""}', "line 2: there is no url"),
        (b'{"url": 5}', "line 2: there is no url"),
        (b'{"url": "/a"}', "line 2: '/a' is not an absolute URL"),
        (b'{"url": "ftp://a/"}', "line 2: 'ftp://a/' is not an absolute URL of http or https"),
        (b'{"url": "http://"}', "line 2: 'http://' is not an absolute URL"),
        (b'{"url": "http://x", "status": 1000}', "line 2: status 1000 is not a status of HTTP"),
        (b'{"url": "http://x", "status": null}', "line 2: status None"),
        (b'{"url": "http://x", "status": 1e999}', "line 2: status inf"),
        (b"[" * 100_000, "line 2: "),
    ],
)
def test_a_broken_line_is_told_by_its_number(broken: bytes, reason: str):
    """Line number, offset and reason of the damage; the lines around it are read."""
    before = line(url="http://a/")
    pages, [(offset, told)], n_entries = read(read_json_pages, before + broken + b"\r\n" + line(url="http://b/"))
    assert [page.url for page in pages] == ["http://a/", "http://b/"]
    assert (offset, n_entries) == (len(before), 3)
    assert told.startswith(reason)


def test_line_ends_empty_lines_and_marks_do_not_matter():
    """A byte order mark, empty lines, Windows line ends, no line end at the end."""
    a, b, c = (line(url=f"http://{name}/") for name in "abc")
    pages, damage, n_entries = read(read_json_pages, b"\xef\xbb\xbf" + a + b"\r\n\n" + b.strip() + b"\r\n" + c.strip())
    assert [page.url for page in pages] == ["http://a/", "http://b/", "http://c/"]
    assert (damage, n_entries) == ([], 3)


def test_a_gap_costs_the_line_it_lies_in():
    """A text around a gap is reported as damaged; whole JSON lines are read, but no row after a gap."""
    lost = Gap("damaged zstd frame")
    pages, damage, _ = read(
        read_json_pages, line(url="http://a/") + b'{"url":', lost, b'"x"}\n' + line(url="http://b/")
    )
    assert [page.url for page in pages] == ["http://a/", "http://b/"]
    assert "damaged zstd frame" in damage[0][1]
    assert len(damage) == 2
    pages, damage, _ = read(read_table, b"url,body\nhttp://a/,x\nhttp://b", lost, b"/,x\nhttp://c/,x\n")
    assert [page.url for page in pages] == ["http://a/"]
    assert [reason for _, reason in damage] == ["row 2: damaged zstd frame; the rest is not read"]


@pytest.mark.parametrize("name", FILES)
@given(size=st.integers(2, 60), start=st.integers(0, 7))
def test_pages_come_out_whatever_the_chunks(name, size, start):
    """Law: any chunks give the same pages; a start position skips earlier pages, and positions are reported."""
    reader, content = FILES[name]
    whole, damage, _ = read(reader, content)
    pages, _, n_entries = read(reader, *(content[i : i + size] for i in range(0, len(content), size)), start=start)
    assert damage == []
    assert (len(whole), n_entries) == (5, 5)
    assert pages == whole[start:]


@pytest.mark.parametrize("name", ["jsonl", "json", "csv"])
@given(rubbish=st.binary(max_size=60), cut=st.integers(0, 400))
def test_no_rubbish_breaks_a_reader(name, rubbish, cut):
    """Law: any file gives pages and damage, never an exception."""
    reader, content = FILES[name]
    assert all(isinstance(page, Page) for page in read(reader, content[:cut] + rubbish + content[cut:])[0])


@pytest.mark.parametrize("kind", ["json", "jsonl", "csv"])
def test_fields_may_have_other_names(tmp_path, kind):
    """Other field names give a line that lists the fields, and are read if the names are given.

    Pages with quotes, commas and line ends come back unchanged.
    """
    items = [{"link": item["url"], "Source": item["body"], "status": "sold"} for item in ITEMS]
    content = scrapy_feed(kind, items, 0)
    given = {"url": "link", "content": "Source", "status": ""}
    with pytest.raises(BadInputError, match=r"no field 'uri'; known: url, .* Did you mean 'url'\?"):
        imported(tmp_path, content, fields={"uri": "link"})
    said = "which is no known format" if kind == "csv" else r"'url or address' \(fields: link, Source, status\)"
    with pytest.raises(BadInputError, match=said):
        imported(tmp_path, content)
    wrong, _ = imported(tmp_path, content, fields={**given, "url": "Source"})
    report, pages = imported(tmp_path, content, fields=given)
    assert (wrong.n_new_pages, wrong.damages.n) == (0, len(ITEMS))
    assert (report.n_new_pages, report.damages.n) == (len(ITEMS), 0)
    assert [page.url for page in pages] == CRAWL.urls
    assert [page.content.decode().replace("\r\n", "\n") for page in pages] == [item["body"] for item in ITEMS]


def test_digests_are_enough_to_learn_from(tmp_path):
    """Import, label, train: pages of equal digests are one page, and `sid` is dropped, without any text."""
    report, pages = imported(tmp_path, frog_csv(frog_rows(CRAWL)))
    with PageStore(tmp_path / "crawl.db") as store:
        labelled = label_store(store, n_workers=1)
        data = training_data(store)
    model = make_method("verified").fit(data.urls, data.clusters, data.referrers, data.redirects)
    assert (report.n_new_pages, report.damages.n, report.n_by_digest) == (len(CRAWL.urls), 0, len(CRAWL.urls))
    assert all(page.content == b"" and page.digest is not None for page in pages)
    assert len(set(zip(data.clusters, CRAWL.clusters, strict=True))) == labelled.n_clusters == len(set(CRAWL.clusters))
    assert model.canonicalize(f"{HOST}/topic.php?t=777&sid=00c0ffee00c0ffee") == f"{HOST}/topic.php?t=777"


def test_what_an_export_says_besides(tmp_path):
    """Redirects keep their targets, canonical links are kept but not trusted, unfetched URLs are no pages."""
    rows = frog_rows(CRAWL)[:4]
    columns = list(FROG_COLUMNS)
    for place, (name, value) in enumerate([("Status Code", "301"), ("Status Code", "0"), ("Word Count", "3")]):
        rows[place][columns.index(name)] = value
    rows[0][columns.index("Redirect URL")] = f"{HOST}/target"
    rows[2][columns.index("Hash")] = rows[3][columns.index("Hash")]
    for row in rows:
        row[columns.index("Canonical Link Element 1")] = f"{HOST}/all-the-same"
    _, pages = imported(tmp_path, frog_csv(rows))
    with PageStore(tmp_path / "crawl.db") as store:
        label_store(store, n_workers=1)
        clusters = [page.cluster for page in store.labelled_pages()]
        kept = [page.canonical_link for page in store.pages()]
    assert [page.url for page in pages] == [rows[0][0], rows[2][0], rows[3][0]]
    assert pages[0].redirect_to == f"{HOST}/target"
    assert pages[1].digest is None, "three words are the shell of an application, whatever it would show"
    assert kept == [f"{HOST}/all-the-same"] * 3
    assert len(set(clusters)) == 3


def test_damage_is_told_and_the_rest_is_read(tmp_path):
    """A row with too few cells is no page, nor is one whose quote stays open, or whose URL is not in UTF-8."""
    report, pages = imported(
        tmp_path, b'url,body\nhttp://a/,x\nhttp://b/\nhttp://c/\xe9,x\nhttp://d/,"\xe9\n"\nhttp://e/,"x\nhttp://f/,x\n'
    )
    assert [page.url for page in pages] == ["http://a/", "http://d/"]
    assert (report.damages.records[0].path, report.damages.records[0].offset) == (str(tmp_path / "export"), 21)
    assert [damaged.reason for damaged in report.damages.records] == [
        "row 2: 1 cells below 2 columns",
        "row 3: 'http://c/\ufffd' is not in UTF-8: save the file as UTF-8",
        "row 5: a quote is open up to the end of the file",
    ]


@pytest.mark.parametrize("kind", ["json", "jsonl", "csv"])
def test_a_packed_file_that_was_cut(tmp_path, kind):
    """Half of a gzip file: half of its pages, and a line that says so."""
    packed = gzip.compress(scrapy_feed(kind, ITEMS, 0), mtime=0)
    report, pages = imported(tmp_path, packed[: len(packed) // 2])
    assert 10 < len(pages) < len(ITEMS)
    assert [page.url for page in pages] == CRAWL.urls[: len(pages)]
    assert any("middle of a gzip member" in damaged.reason for damaged in report.damages.records)


EXPORT = CORPORA / "crawl_exports" / "minesparis-2022.csv.gz"


@pytest.mark.skipif(not EXPORT.exists(), reason="needs the corpora")
def test_a_real_export(tmp_path):
    """A university's site: equal hashes are one page, redirects are followed, canonical links join none."""
    rows = list(csv.DictReader(io.StringIO(gzip.decompress(EXPORT.read_bytes()).decode())))
    report, _ = imported(tmp_path, EXPORT.read_bytes())
    with PageStore(tmp_path / "crawl.db") as store:
        label_store(store, n_workers=1)
        cluster_of = {page.url: page.cluster for page in store.labelled_pages()}
    fetched = [row for row in rows if row["status"] != "0"]
    good = [row for row in fetched if row["status"] == "200" and row["hash"]]
    assert (report.n_new_pages, report.damages.n) == (len(fetched), 0)
    assert report.n_by_digest == len(good)
    assert len({(row["hash"], cluster_of[row["url"]]) for row in good}) == len({row["hash"] for row in good})
