"""Files that other programs wrote, as those write them: what they hold comes in, and can be learnt from."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest

from crawl_exports import CORPORA, FROG_COLUMNS, cdx, cdxj, frog_csv, frog_rows, html, scrapy_feed
from dedup_crawler.errors import BadInputError
from dedup_crawler.labels.labelling import label_store
from dedup_crawler.methods import make_method
from dedup_crawler.methods.model.training_data import training_data
from dedup_crawler.pages.importing import import_files
from dedup_crawler.pages.store import PageStore
from planted_site import HOST, session_ids
from recordings import SITE, pages_of, request, response

CRAWL = session_ids(n_pages=40)
ITEMS = [{"url": url, "body": html(cluster)} for url, cluster in zip(CRAWL.urls, CRAWL.clusters, strict=True)]
EXPORTS = {
    "frog": frog_csv(frog_rows(CRAWL)),
    "frog of old": frog_csv(frog_rows(CRAWL), title="Internal - All", encoding="utf-16"),
    "frog with semicolons": frog_csv(frog_rows(CRAWL), separator=";"),
    "cdx": cdx(CRAWL).encode(),
    "cdx of nine": cdx(CRAWL, "N b a m s k r V g").encode(),
    "cdx without a header": cdx(CRAWL).partition("\n")[2].encode(),
    "packed cdxj": gzip.compress(cdxj(CRAWL).encode(), mtime=0),
}


def imported(tmp_path: Path, content: bytes, name: str = "export", **options):
    path = tmp_path / name
    path.write_bytes(content)
    with PageStore(tmp_path / "crawl.db") as store:
        return import_files([path], store, **options), list(store.pages())


@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("kind", ["json", "jsonl", "csv", "xml"])
def test_scrapy_feeds_bring_their_pages(tmp_path, kind, indent):
    """Whatever Scrapy's exporter writes, quotes, commas and line ends in the page included, comes in as it was."""
    content = scrapy_feed(kind, ITEMS, indent if kind in ("json", "xml") else None)
    report, pages = imported(tmp_path, content)

    assert (report.n_new_pages, report.n_damaged) == (len(ITEMS), 0)
    assert [page.url for page in pages] == CRAWL.urls
    assert [page.content.decode().replace("\r\n", "\n") for page in pages] == [item["body"] for item in ITEMS]


@pytest.mark.parametrize("kind", ["json", "jsonl", "csv", "xml"])
def test_fields_may_have_other_names(tmp_path, kind):
    """A spider that calls them otherwise is told by a line that names its fields, and read with their names given."""
    content = scrapy_feed(kind, [{"link": item["url"], "Source": item["body"], "status": "sold"} for item in ITEMS])
    given = {"url": "link", "content": "Source", "status": ""}
    report, pages = imported(tmp_path, content, fields=given)

    assert (report.n_new_pages, report.n_damaged) == (len(ITEMS), 0)
    assert pages[0].content.decode().replace("\r\n", "\n") == ITEMS[0]["body"]
    with pytest.raises(BadInputError, match=r"no field 'uri'; known: url, .* Did you mean 'url'\?"):
        imported(tmp_path, content, fields={"uri": "link"})


def test_a_file_that_was_read_wrongly_can_be_read_again(tmp_path):
    """An import under wrong names leaves nothing behind that would stop the next one."""
    content = scrapy_feed("json", [{"link": item["url"], "body": item["body"]} for item in ITEMS])
    wrong, _ = imported(tmp_path, content)
    right, _ = imported(tmp_path, content, fields={"url": "link"})

    assert (wrong.n_new_pages, wrong.n_damaged) == (0, len(ITEMS))
    assert wrong.damaged[0].reason == "item 1: there is no url; fields: link, body"
    assert right.n_new_pages == len(ITEMS)


@pytest.mark.parametrize("export", EXPORTS)
def test_digests_are_enough_to_learn_from(tmp_path, export):
    """Import, label, train: pages of equal digests are one page, and `sid` goes, without a word of any page's text."""
    report, pages = imported(tmp_path, EXPORTS[export])
    with PageStore(tmp_path / "crawl.db") as store:
        labelled = label_store(store, n_workers=1)
        data = training_data(store)
    model = make_method("verified").fit(data.urls, data.clusters, data.referrers, data.redirects)

    assert (report.n_new_pages, report.n_damaged, report.n_by_digest) == (len(CRAWL.urls), 0, len(CRAWL.urls))
    assert all(page.content == b"" and page.digest is not None for page in pages)
    assert len(set(zip(data.clusters, CRAWL.clusters, strict=True))) == labelled.n_clusters == len(set(CRAWL.clusters))
    assert model.canonicalize(f"{HOST}/topic.php?t=777&sid=00c0ffee00c0ffee") == f"{HOST}/topic.php?t=777"


def test_what_screaming_frog_says_besides(tmp_path):
    """Redirects lead where they lead, canonical links are kept and believed by nobody, what was not fetched is none."""
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


def test_a_body_that_comes_later_takes_the_place_of_a_digest(tmp_path):
    """An index first, the WARC afterwards: the page is read, and the other way round it stays."""
    url = f"{SITE}/topic/0"
    line = f"{SITE} 20240101000000 {url} text/html 200 {'A' * 32} - - 1 2 x\n".encode()
    warc = response(url, b"<p>the page</p>")
    for first, second in ((line, warc), (warc, line)):
        imported(tmp_path, first, "first")
        _, [page] = imported(tmp_path, second, "second")
        assert (page.content, page.digest) == (b"<p>the page</p>", None)
        (tmp_path / "crawl.db").unlink()


def test_access_logs_bring_urls(tmp_path):
    """URL, status and referrer of each GET; nobody can say what they show, and the host has to be told."""
    log = b"\n".join(
        b'10.0.0.1 - - [12/Dec/2015:18:25:11 +0100] "%s HTTP/1.1" %s 42 "http://forum.example/" "-"' % asked
        for asked in [(b"GET /a?b=1", b"200"), (b"GET /a?b=1", b"200"), (b"POST /a", b"200"), (b"GET /c", b"304")]
    )
    with pytest.raises(BadInputError, match=r"export is an access log that names paths only: .* --host"):
        imported(tmp_path, log)
    report, [page] = imported(tmp_path, log, host="https://forum.example")

    assert (report.n_records, report.n_new_pages, report.n_without_body) == (4, 1, 1)
    assert (page.url, page.status, page.referrer) == ("https://forum.example/a?b=1", 200, "http://forum.example/")


def wacz(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


RECORDS = [raw for i, page in enumerate(pages_of(30)) for raw in (page, request(f"{SITE}/topic/{i}", f"{SITE}/"))]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_wacz_is_the_warc_files_in_it(tmp_path, method):
    """Two recordings in one archive, packed and not: their pages with referrers; no file beside the store."""
    members = {
        "datapackage.json": b"{}",
        "archive/a.warc.gz": b"".join(map(gzip.compress, RECORDS[:40])),
        "pages/pages.jsonl": b'{"url": "http://not.example/"}\n',
        "archive/b.warc": b"".join(RECORDS[40:]),
        "archive/../../escaped.warc": RECORDS[0],
        "/archive/c.warc": RECORDS[0],
    }
    path = wacz(tmp_path / "crawl.wacz", members, method)
    (tmp_path / "deep").mkdir()
    with PageStore(tmp_path / "deep" / "crawl.db") as store:
        report = import_files([path], store)
        again = import_files([path], store)
        pages = list(store.pages())

    assert (report.n_records, report.n_new_pages, report.n_damaged) == (60, 30, 0)
    assert (again.n_new_pages, again.n_known) == (0, 0)
    assert [page.url for page in pages] == [f"{SITE}/topic/{i}" for i in range(30)]
    assert {page.referrer for page in pages} == {f"{SITE}/"}
    assert sorted(each.name for each in tmp_path.iterdir()) == ["crawl.wacz", "deep"]


def test_a_wacz_goes_on_where_it_stopped(tmp_path):
    """An import that ends in the second recording makes no page of the first one again."""
    path = wacz(tmp_path / "crawl.wacz", {f"archive/{n}.warc": b"".join(RECORDS[n * 20 :][:20]) for n in range(3)})
    with PageStore(tmp_path / "crawl.db") as store:

        def stop(_name: str, done: int, size: int) -> None:
            if done > size / 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            import_files([path], store, stop)
        n_before = len(store)
        report = import_files([path], store)

        assert 20 <= n_before < 30
        assert report.n_new_pages == 30 - n_before
        assert report.n_known == 0
        assert len(store) == 30


def test_hostile_and_damaged_archives(tmp_path):
    """A bomb, a spreadsheet, a cut ZIP, a broken member: a line each, and what can be read is."""
    bomb = wacz(tmp_path / "bomb.wacz", {"archive/a.warc": bytes(50_000_000)}, zipfile.ZIP_DEFLATED)
    sheet = wacz(tmp_path / "sheet.xlsx", {"xl/workbook.xml": b"<x/>"})
    cut = tmp_path / "cut.wacz"
    cut.write_bytes(wacz(tmp_path / "whole.wacz", {"archive/a.warc": b"".join(RECORDS)}).read_bytes()[:-200])
    with PageStore(tmp_path / "crawl.db") as store:
        for path, expected in {
            bomb: "grows more than 100 times",
            sheet: r"no WACZ; a spreadsheet can be saved as CSV",
            cut: "cannot be read as one",
        }.items():
            with pytest.raises(BadInputError, match=expected) as caught:
                import_files([path], store)
            assert str(path) in str(caught.value)
            assert "\n" not in str(caught.value)

        whole = wacz(tmp_path / "two.wacz", {"archive/a.warc": b"".join(RECORDS[:30]), "archive/b.warc": RECORDS[40]})
        spoilt = bytearray(whole.read_bytes())
        spoilt[spoilt.index(b"/topic/3") + 7] ^= 1
        whole.write_bytes(spoilt)
        report = import_files([whole], store)
        assert report.n_damaged >= 1
        assert "'archive/a.warc'" in report.damaged[0].reason
        assert f"{SITE}/topic/20" in store


WRONG = {
    "page.html": b"<!doctype html><title>x</title>",
    "image.png": b"\x89PNG\r\n\x1a\n",
    "letter.txt": b"Dear Sir or Madam,\nno URL here",
    "table.csv": b"name,price\nx,1\n",
    "urls.csv": b"url\nhttp://a.example/\n",
    "har.json": b'{\n  "log": {"version": "1.2"}\n}\n',
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_told_in_one_line(tmp_path, name):
    """What was found, and what can be imported; nothing is written."""
    with pytest.raises(
        BadInputError, match=r"as nothing that can be imported does: WARC, WACZ, JSON lines, .*CDX"
    ) as told:
        imported(tmp_path, WRONG[name], name)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'<?xml version="1.0"?><!DOCTYPE items [<!ENTITY a "b">]><items/>', "has a document type"),
        (
            b'{"link": "http://a/", "title": "x"}\n',
            r"no object has a field 'url' \(fields: link, title\); .*--field url=",
        ),
    ],
)
def test_nearly_right_files_say_what_is_wrong(tmp_path, content, expected):
    """Entities are never read, and the fields that were found are named."""
    with pytest.raises(BadInputError, match=expected):
        imported(tmp_path, content)


def test_pages_may_hold_a_document_type(tmp_path):
    """A feed whose pages stand in CDATA, with what HTML begins with, is no file with a document type."""
    page = b"<!DOCTYPE html><p>text</p>"
    feed = b"<?xml version='1.0'?>\n<!-- a -->\n<items><item><url>http://a/</url><body><![CDATA[%s]]></body></item></items>"
    _, [found] = imported(tmp_path, feed % page)

    assert found.content == page


def test_entities_behind_the_beginning_are_refused(tmp_path):
    """A document type that hides behind a long comment is met by the parser, which does not read on."""
    bomb = b'<?xml version="1.0"?><!--' + b"x" * 100_000 + b'--><!DOCTYPE a [<!ENTITY b "cc">]><items><item/></items>'
    report, pages = imported(tmp_path, bomb)

    assert pages == []
    assert "DTDForbidden" in report.damaged[0].reason


BROKEN = {
    "json": (b'[{"url": "http://a/", "body": "x"}, {"url" 5}, {"url": "http://b/"', ["item 2: Expecting", "cut off"]),
    "csv": (b'url,body\nhttp://a/,x\nhttp://b/\n"http://c/,"x\n', ["row 2: 1 cells below 2 columns", "row 3"]),
    "xml": (b"<items><item><url>http://a/</url></item><item><url>http://b</item>", ["item 2: mismatched tag"]),
    "cdx": (
        b" CDX N b a m s k r V g\nx 20240101000000 http://a/ text/html 200 AAAAAAAAAA - 1 g\nrubbish\n",
        ["line 3: expected 9 cells"],
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_damage_is_told_and_the_rest_is_read(tmp_path, kind):
    """The page before the damage is there, the damage is told by its number."""
    content, reasons = BROKEN[kind]
    report, pages = imported(tmp_path, content)

    assert [page.url for page in pages] == ["http://a/"]
    for reason in reasons:
        assert any(reason in damaged.reason for damaged in report.damaged), report.damaged


@pytest.mark.parametrize("kind", ["json", "csv", "xml", "cdx"])
def test_a_packed_file_that_was_cut(tmp_path, kind):
    """Half of a gzip file: half of its pages, and a line that says so."""
    content = cdx(CRAWL).encode() if kind == "cdx" else scrapy_feed(kind, ITEMS)
    packed = gzip.compress(content, mtime=0)
    report, pages = imported(tmp_path, packed[: len(packed) // 2])

    assert 10 < len(pages) < len(ITEMS)
    assert [page.url for page in pages] == CRAWL.urls[: len(pages)]
    assert any("middle of a gzip member" in damaged.reason for damaged in report.damaged)


EXPORT = CORPORA / "crawl_exports" / "minesparis-2022.csv.gz"


@pytest.mark.skipif(not EXPORT.exists(), reason="needs the corpora")
def test_a_real_export(tmp_path):
    """The export of a university's site: pages of equal hash are one, redirects lead on, canonical links join none."""
    names = {
        "url": "Address",
        "content_type": "Content Type",
        "status": "Status Code",
        "canonical": "Canonical Link Element 1",
        "redirect_url": "Redirect URL",
        "size": "Size (bytes)",
        "word_count": "Word Count",
        "hash": "Hash",
        "indexability_status": "Indexability Status",
        "title": "Title 1",
    }
    rows = list(csv.DictReader(io.StringIO(gzip.decompress(EXPORT.read_bytes()).decode())))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([names[column] for column in rows[0]])
    writer.writerows(row.values() for row in rows)
    report, _ = imported(tmp_path, text.getvalue().encode("utf-8-sig"))
    with PageStore(tmp_path / "crawl.db") as store:
        label_store(store, n_workers=1)
        cluster_of = {page.url: page.cluster for page in store.labelled_pages()}

    fetched = [row for row in rows if row["status"] != "0"]
    good = [row for row in fetched if row["status"] == "200" and row["hash"]]
    assert (report.n_new_pages, report.n_damaged) == (len(fetched), 0)
    assert report.n_by_digest == len(good)
    assert len({(row["hash"], cluster_of[row["url"]]) for row in good}) == len({row["hash"] for row in good})


def test_json_output_says_what_was_found(tmp_path):
    """`import --json` for a program, and the lines for a person, name pages that are known by digest alone."""
    from click.testing import CliRunner

    from dedup_crawler.cli import main

    (tmp_path / "internal_all.csv").write_bytes(EXPORTS["frog"])
    database = ["--db", str(tmp_path / "crawl.db")]
    told = CliRunner().invoke(main, ["import", str(tmp_path / "internal_all.csv"), *database, "--json"])
    wrong = CliRunner().invoke(main, ["import", str(tmp_path / "internal_all.csv"), *database, "--field", "url"])

    assert json.loads(told.stdout)["by_digest"] == len(CRAWL.urls)
    assert wrong.exit_code == 2
    assert "write --field url=VALUE" in wrong.stderr


def test_the_first_good_capture_counts(tmp_path):
    """Of the captures of one URL the first good one counts; what is no page is left out."""
    rows = [
        ("http://a/", "text/html", "404", "A" * 32),
        ("http://a/", "text/html", "200", "B" * 32),
        ("http://a/", "text/html", "200", "C" * 32),
        ("http://a/b", "warc/revisit", "-", "B" * 32),
        ("dns:a", "text/dns", "-", "D" * 32),
        ("http://a/c", "text/html", "301", "E" * 32),
    ]
    lines = [f"key 20240101000000 {url} {mime} {status} {digest} 5\n" for url, mime, status, digest in rows]
    report, pages = imported(tmp_path, "".join(lines).encode())

    assert (report.n_records, report.n_damaged) == (6, 0)
    assert [(page.url, page.status) for page in pages] == [("http://a/", 200), ("http://a/c", 301)]
    assert pages[0].digest == f"sha1:{base64.b32decode('B' * 32).hex()}"
    assert pages[0].fetched_at == 1704067200.0
