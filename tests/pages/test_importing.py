"""Import of whole files into a store: all kinds and compressions, interrupted, repeated, damaged, hostile, missing."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import textwrap
import zipfile
from pathlib import Path

import pytest
import zstandard
from click.testing import CliRunner

from dedup_crawler.cli import main
from dedup_crawler.errors import BadInputError
from dedup_crawler.pages.imports import ImportReport, import_files
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.store import PageStore
from recordings import PYTHON, SITE, pages_of, request, response
from repository import ROOT

RECORDS = [raw for i, page in enumerate(pages_of(30)) for raw in (page, request(f"{SITE}/topic/{i}", f"{SITE}/"))]
PACKED = {
    "plain.warc": b"".join(RECORDS),
    "members.warc.gz": b"".join(map(gzip.compress, RECORDS)),
    "one-stream.WARC.gz": gzip.compress(b"".join(RECORDS), mtime=0),
    "frames.warc.zst": b"".join(map(zstandard.compress, RECORDS)),
    "one-stream.warc.zst": zstandard.compress(b"".join(RECORDS)),
    "misnamed.warc.gz": b"".join(RECORDS),
}


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "crawl.db"


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def imported(db: Path, *paths: Path, **options: str) -> tuple[ImportReport, list[Page]]:
    with PageStore(db) as store:
        return import_files(paths, store, **options), list(store.pages())


@pytest.mark.parametrize("name", PACKED)
def test_every_packing_gives_the_same_pages(tmp_path: Path, db: Path, name: str):
    """Plain, one member or frame per record, one stream, a wrong ending: 30 pages with their referrers."""
    path = written(tmp_path / name, PACKED[name])
    report, pages = imported(db, path)
    assert report == ImportReport(60, 30, 0)
    assert pages[29].url == f"{SITE}/topic/29"
    assert pages[29].content == b"<p>page</p>29"
    assert {page.referrer for page in pages} == {f"{SITE}/"}


def test_importing_twice_changes_nothing(tmp_path: Path, db: Path):
    """The same file again, under another name too, and the same pages in another file."""
    first = written(tmp_path / "a.warc", PACKED["plain.warc"])
    _, pages = imported(db, first)
    copy = written(tmp_path / "b.warc", PACKED["plain.warc"])
    for path in (first, copy):
        report, again = imported(db, path)
        assert (report.n_records, report.n_new_pages, report.n_known) == (60, 0, 0)
        assert again == pages
    report, again = imported(db, written(tmp_path / "c.warc.gz", PACKED["members.warc.gz"]))
    assert (report.n_new_pages, report.n_known) == (0, 30)
    assert again == pages


def test_several_files_and_their_progress(tmp_path: Path, db: Path):
    """Files are read in the given order; progress is reported by file and ends at its size."""
    paths = [
        written(tmp_path / "2.warc", b"".join(pages_of(3))),
        written(tmp_path / "1.jsonl", b'{"url": "http://a/"}\n'),
        written(tmp_path / "0.warc", b""),
    ]
    seen: dict[str, tuple[int, int]] = {}
    with PageStore(db) as store:
        report = import_files(paths, store, lambda name, done, size: seen.update({name: (done, size)}))
        assert list(store.urls())[-1] == "http://a/"
    assert report == ImportReport(4, 4, n_without_body=1)
    assert seen == {path.name: (path.stat().st_size,) * 2 for path in paths[:2]}


@pytest.mark.parametrize("name", PACKED)
def test_a_file_that_was_cut_in_the_middle(tmp_path: Path, db: Path, name: str):
    """For any compression: everything before the cut, and one report that the file is cut."""
    content = PACKED[name]
    report, pages = imported(db, written(tmp_path / name, content[: len(content) * 2 // 3 + 3]))
    assert report.damages.n == 1
    assert report.damages.records[0].path.endswith(name)
    assert re.search("cut off|ends in the middle", report.damages.records[0].reason)
    if not name.startswith("one-stream"):
        assert len(pages) in (19, 20, 21)
    assert [page.url for page in pages] == [f"{SITE}/topic/{i}" for i in range(len(pages))]


@pytest.mark.parametrize("name", ["members.warc.gz", "frames.warc.zst"])
def test_a_damaged_member_costs_one_record(tmp_path: Path, db: Path, name: str):
    """A few bytes of one compressed record are overwritten: the other 29 pages come."""
    pack = gzip.compress if name.endswith("gz") else zstandard.ZstdCompressor(write_checksum=True).compress
    members = [bytearray(pack(page)) for page in pages_of(30)]
    members[10][20:40] = bytes(20)
    report, pages = imported(db, written(tmp_path / name, b"".join(members)))
    assert {page.url for page in pages} >= {f"{SITE}/topic/{i}" for i in range(30) if i != 10}
    assert 1 <= report.damages.n <= 2


def test_many_damaged_records_are_counted_but_not_kept(tmp_path: Path, db: Path):
    """Reports on a file of garbage are bounded in memory."""
    report, _ = imported(db, written(tmp_path / "a.jsonl", b"rubbish\n" * 5000))
    assert report.damages.n == 5000
    assert len(report.damages.records) == 100


def test_bad_paths_are_named_before_anything_is_read(tmp_path: Path, db: Path):
    """A missing file, a folder, an unknown kind: one line each, and the good file before it is not imported."""
    good = written(tmp_path / "a.warc", PACKED["plain.warc"])
    (tmp_path / "folder.warc").mkdir()
    os.mkfifo(tmp_path / "pipe.warc")
    cases = {
        tmp_path / "missing.warc": "there is no file",
        tmp_path / "folder.warc": "is a folder",
        tmp_path / "pipe.warc": "is not a regular file",
        written(tmp_path / "pages.csv", b"x"): r"starts with b'x', which is no known format; known: WARC, .*CSV",
        written(tmp_path / "warc", b""): "starts with b'', which is no known format",
        written(tmp_path / "page.html", b"<!doctype html><title>x</title>"): "which is no known format",
        written(tmp_path / "image.png", b"\x89PNG\r\n\x1a\n"): "which is no known format",
        written(tmp_path / "letter.txt", b"Dear Sir or Madam,\nno URL here"): "which is no known format",
        written(tmp_path / "table.csv", b"name,price\nx,1\n"): "which is no known format",
        written(tmp_path / "urls.csv", b"url\nhttp://a.example/\n"): "which is no known format",
        written(tmp_path / "mac.csv", b"url,content\rhttp://a.example/,x\r"): "which is no known format",
        written(tmp_path / "har.json", b'{\n  "log": {"version": "1.2"}\n}\n'): "which is no known format",
        written(tmp_path / "items.jl", b'{"link": "http://a/", "title": "x"}\n'): r"no object has a field 'url.*=NAME",
    }
    with PageStore(db) as store:
        for path, expected in cases.items():
            with pytest.raises(BadInputError, match=expected) as caught:
                import_files([good, path], store)
            assert str(path) in str(caught.value)
            assert "\n" not in str(caught.value)
        for host in ("", "ftp://a.example", "a b", "https://a.example/forum", "https://me@a.example"):
            with pytest.raises(BadInputError, match="is no host: give one like"):
                import_files([good], store, host=host)
        assert len(store) == 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_import_goes_on_where_it_stopped(tmp_path: Path, db: Path, how: signal.Signals):
    """A real process, Ctrl-C or killed in the middle: the database opens, the next run completes it exactly."""
    n_pages = 3000
    raw = b"".join(
        response(f"{SITE}/{i}", b"body %d" % i) + request(f"{SITE}/{i}", f"{SITE}/from/{i}") for i in range(n_pages)
    )
    path = written(tmp_path / "a.warc.gz", gzip.compress(raw))
    code = """
        import sys, time
        from pathlib import Path
        from dedup_crawler.pages.imports import import_files
        from dedup_crawler.pages.store import PageStore

        def progress(name, done, size):
            print(done / size, flush=True)
            time.sleep(0.02)

        with PageStore(sys.argv[2]) as store:
            import_files([Path(sys.argv[1])], store, progress)
    """
    command = [*PYTHON, "-c", textwrap.dedent(code), path, db]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if float(line) > 0.4:
                process.send_signal(how)
                break
        process.stdout.read()
    assert process.returncode != 0

    with PageStore(db, create=False) as store:
        n_before = len(store)
        assert 100 <= n_before < n_pages
    report, pages = imported(db, path)
    assert report.n_new_pages == n_pages - n_before
    assert report.n_known <= 100
    assert [(page.url, page.referrer) for page in pages] == [
        (f"{SITE}/{i}", f"{SITE}/from/{i}") for i in range(n_pages)
    ]


def peak_of_import(path: Path, db: Path) -> tuple[int, int, int]:
    """Return new pages, damaged places, and the growth of a process's peak memory in KiB when it imports *path*."""
    code = """
        import resource, sys
        from pathlib import Path
        from dedup_crawler.pages.imports import import_files
        from dedup_crawler.pages.store import PageStore
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with PageStore(sys.argv[2]) as store:
            report = import_files([Path(sys.argv[1])], store)
        print(report.n_new_pages, report.damages.n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    command = [*PYTHON, "-c", textwrap.dedent(code), path, db]
    n_pages, n_damaged, kib = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(n_pages), int(n_damaged), int(kib)


def test_memory_does_not_grow_with_the_file(tmp_path: Path, db: Path):
    """The peak memory grows by far less than the 60 MB of records."""
    body = bytes(range(256)) * 400
    with gzip.open(tmp_path / "a.warc.gz", "wb", compresslevel=1) as file:
        for i in range(600):
            file.write(response(f"{SITE}/{i}", body))
    n_pages, n_damaged, kib = peak_of_import(tmp_path / "a.warc.gz", db)
    assert (n_pages, n_damaged) == (600, 0)
    assert kib < 30_000


def test_a_record_of_gigabytes_is_refused(tmp_path: Path, db: Path):
    """A body that claims 3 GB, and 15 KB of zstd for 500 MB: reported once, never held; the next record is read."""
    first, last = pages_of(2)
    claim = re.sub(rb"Content-Length: \d+", b"Content-Length: 3000000000", response(f"{SITE}/bomb", b""))
    with zstandard.open(tmp_path / "a.warc.zst", "wb") as file:
        file.write(first + claim)
        for _ in range(50):
            file.write(bytes(10_000_000))
        file.write(last)
    n_pages, n_damaged, kib = peak_of_import(tmp_path / "a.warc.zst", db)
    assert (n_pages, n_damaged) == (2, 1)
    assert kib < 150_000


def test_a_body_that_comes_later_takes_the_place_of_a_digest(tmp_path: Path, db: Path):
    """A list of digests first, the WARC afterwards: the page is stored; in the other order it stays."""
    url = f"{SITE}/topic/0"
    digest = written(tmp_path / "list", json.dumps({"url": url, "digest": "0" * 32}).encode())
    warc = written(tmp_path / "warc", response(url, b"<p>the page</p>"))
    for first, second in ((digest, warc), (warc, digest)):
        imported(db, first)
        _, [page] = imported(db, second)
        assert (page.content, page.digest) == (b"<p>the page</p>", None)
        db.unlink()


def test_access_logs_bring_urls(tmp_path: Path, db: Path):
    """URL, status and referrer of each GET; their pages stay unknown, and the host must be given."""
    log = b"\n".join(
        b'10.0.0.1 - - [12/Dec/2015:18:25:11 +0100] "%s HTTP/1.1" %s 42 "http://forum.example/" "-"' % asked
        for asked in [(b"GET /a?b=1", b"200"), (b"GET /a?b=1", b"200"), (b"POST /a", b"200"), (b"GET /c", b"304")]
    )
    path = written(tmp_path / "export", log)
    with pytest.raises(BadInputError, match=r"export is an access log that names paths only: .* --host"):
        imported(db, path)
    report, [page] = imported(db, path, host="https://forum.example")

    assert (report.n_records, report.n_new_pages, report.n_without_body) == (4, 1, 1)
    assert (page.url, page.status, page.referrer) == ("https://forum.example/a?b=1", 200, "http://forum.example/")


def wacz(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_wacz_is_the_warc_files_in_it(tmp_path, method):
    """Two recordings in one archive, compressed or not: their pages with referrers; no other file is left."""
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

    assert (report.n_records, report.n_new_pages, report.damages.n) == (60, 30, 0)
    assert (again.n_new_pages, again.n_known) == (0, 0)
    assert [page.url for page in pages] == [f"{SITE}/topic/{i}" for i in range(30)]
    assert {page.referrer for page in pages} == {f"{SITE}/"}
    assert sorted(each.name for each in tmp_path.iterdir()) == ["crawl.wacz", "deep"]


def test_a_wacz_goes_on_where_it_stopped(tmp_path):
    """A resumed import of the second recording repeats no page of the first one."""
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
    """A bomb, a spreadsheet, a cut ZIP, a broken member: a line each, and the readable pages."""
    bomb = wacz(tmp_path / "bomb.wacz", {"archive/a.warc": bytes(50_000_000)}, zipfile.ZIP_DEFLATED)
    sheet = wacz(tmp_path / "sheet.xlsx", {"xl/workbook.xml": b"<x/>"})
    cut = tmp_path / "cut.wacz"
    cut.write_bytes(wacz(tmp_path / "whole.wacz", {"archive/a.warc": b"".join(RECORDS)}).read_bytes()[:-200])
    with PageStore(tmp_path / "crawl.db") as store:
        for path, expected in {
            bomb: "would grow more than 100 times",
            sheet: r"not a WACZ; save a spreadsheet as CSV",
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
        assert report.damages.n >= 1
        assert "'archive/a.warc'" in report.damages.records[0].reason
        assert store.get(f"{SITE}/topic/20") is not None


def test_the_command_says_what_was_found(tmp_path: Path, db: Path):
    """`import --json` counts pages known by digest alone; an incomplete option gives one line."""
    path = str(written(tmp_path / "list.csv", b"Address,Hash\nhttp://a/,%s\n" % (b"0" * 32)))
    told = CliRunner().invoke(main, ["import", path, "--db", str(db), "--json"])
    wrong = CliRunner().invoke(main, ["import", path, "--db", str(db), "--field", "url"])

    assert json.loads(told.stdout)["by_digest"] == 1
    assert wrong.exit_code == 2
    assert "write --field url=VALUE" in wrong.stderr


def test_a_real_crawl(db: Path):
    """The recorded forum: every response is a page, all but the start have a referrer, redirects have a target."""
    report, pages = imported(db, ROOT / "examples" / "forum.warc.zst")
    assert (report.n_new_pages, report.damages.n) == (5000, 0)
    assert sum(page.redirect_to is not None for page in pages) == 2348
    assert all(page.redirect_to.startswith("https://") for page in pages if page.redirect_to)
    assert sum(page.referrer is None for page in pages) < 50
