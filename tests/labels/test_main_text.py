"""The text of pages of every kind, in this process and in workers, skipped pages, and dying workers."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dedup_crawler.errors import BadInputError
from dedup_crawler.labels.main_text import MAX_BYTES, TextReader, clean_page
from dedup_crawler.pages.records import Page
from python_process import python

HANGING_CLEANER = """
import os, sys, time
from dedup_crawler.labels import main_text
from dedup_crawler.pages.records import Page

main_text.MAX_SECONDS = 1.0
read = main_text.read_html

def read_html(html, url):
    if url.endswith("hangs"):
        time.sleep(1_000)
    if url.endswith("crashes"):
        os._exit(3)
    return read(html, url)

main_text.read_html = read_html

if __name__ == "__main__":
    n = int(sys.argv[1])
    names = [*map(str, range(n // 2)), "hangs", *map(str, range(n // 2, n)), "crashes"]
    pages = (Page(f"http://site.example/{name}", content=b"<html><p>text " + name.encode()) for name in names)
    with main_text.TextReader() as reader:
        read = [*reader.read(pages)]
    print(sum(text.main_text != "" for text, _ in read), "texts")
    for text, reason in read:
        if reason is not None:
            print(text.url, reason)
"""
MASK_TELLER = """
import signal
from dedup_crawler.labels import main_text
from dedup_crawler.labels.html import HtmlText
from dedup_crawler.pages.records import Page

def read_html(html, url):
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    return HtmlText(str(signal.SIGINT in mask), None, "", False)

main_text.read_html = read_html

if __name__ == "__main__":
    with main_text.TextReader(1) as reader:
        (text, _), = reader.read([Page("http://site.example/", content=b"<html>")])
    print(text.title)
"""
UNGUARDED = """
from dedup_crawler.errors import BadInputError
from dedup_crawler.labels.main_text import TextReader
from dedup_crawler.pages.records import Page

try:
    with TextReader() as reader:
        print(len(list(reader.read([Page("http://site.example/", content=b"<html><p>text")]))))
except BadInputError as error:
    print(str(error).partition(":")[0])
"""
SENTENCE = "This is a sentence that is in the middle of the text, and it has many of the words that are so frequent. "
ARTICLE = f"<html><head><title>Head</title></head><body><p>{SENTENCE * 5}</p><p>Contact</p></body></html>"
LISTING = "<html><title>Index</title><table><tr><td><a href=a>alpha.txt</a><td>12K<tr><td><a href=b>beta.txt</a><td>7K"


def page(body: str | bytes, content_type: str | None = "text/html; charset=utf-8", status: int = 200) -> Page:
    content = body.encode() if isinstance(body, str) else body
    return Page("http://site.example/dir/", status, content_type=content_type, content=content)


def text_of(body: str | bytes, content_type: str | None = "text/html; charset=utf-8", status: int = 200) -> str:
    text, reason = clean_page(page(body, content_type, status))
    assert reason is None
    return text.main_text


def test_the_text_is_all_that_a_page_shows() -> None:
    """Each paragraph is a line, in prose and in a list, where jusText would call all of it boilerplate."""
    assert text_of(ARTICLE) == (SENTENCE * 5).strip() + "\nContact"
    assert text_of(LISTING) == "alpha.txt\n12K\nbeta.txt\n7K"


@pytest.mark.parametrize(
    ("body", "content_type", "status", "text"),
    [
        ("one\n\n  two\tthree \r\nfour", "text/plain", 200, "one\ntwo three\nfour"),
        ("a,b\n1,2\n", "text/csv; charset=utf-8", 200, "a,b\n1,2"),
        ("<html><p>moved", "text/html", 302, ""),
        ("<html><p>not found", "text/html", 404, "not found"),
        ("\x89PNG\r\n\x1a\n\0\0", "image/png", 200, ""),
        ("%PDF-1.7 text", "application/pdf", 200, ""),
        ("<!DOCTYPE html><p>untyped", None, 200, "untyped"),
        ("untyped text", None, 200, "untyped text"),
        (b"\x1f\x8b\0\0", None, 200, ""),
        ("<p>xhtml", "Application/XHTML+xml", 200, "xhtml"),
        ("", "text/html", 200, ""),
        ("", "text/plain", 200, ""),
        ("a\0b<p>c", "text/html", 200, "a\ufffdb\nc"),
    ],
)
def test_kinds_of_pages(body: str | bytes, content_type: str | None, status: int, text: str) -> None:
    """Pages of a textual type have a text; redirects, images and archives do not; without a type, the body decides."""
    assert text_of(body, content_type, status) == text


@pytest.mark.parametrize(
    "body",
    [
        bytes(range(256)) * 40,
        b"\x89PNG\r\n\x1a\n" + bytes(5000),
        b"\xff\xfe" + b"\xd8\x00" * 500,
        b"\0" * 3000,
        b"<" * 9000,
    ],
)
def test_binary_served_as_html(body: bytes) -> None:
    """Bytes that are no HTML give some text or none, always the same, and never an exception."""
    first, reason = clean_page(page(body))

    assert reason is None
    assert clean_page(page(body))[0] == first
    first.main_text.encode()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("<title>T</title><p>" + "word " * 4_000_000, f"20000019 bytes, more than {MAX_BYTES}"),
        ("<title>T</title>" + "<div>" * 100_000 + "core", "nested too deep to be read whole"),
    ],
    ids=["20 MB", "deep"],
)
def test_a_page_that_takes_too_much_is_skipped(body: str, reason: str) -> None:
    """Over the limit it is not parsed, and what the parser reads in part is no text to compare."""
    text, told = clean_page(page(body))

    assert (text.main_text, text.simhash, told) == ("", None, reason)
    assert text_of("word\n" * (MAX_BYTES // 5), "text/plain").startswith("word\n")


def test_a_page_that_crashes_the_cleaner_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any exception of the parsers becomes the reason why the page has no text."""
    monkeypatch.setattr("lxml.html.fromstring", lambda *args, **kwargs: 1 / 0)

    text, reason = clean_page(page("<p>x"))

    assert text.main_text == ""
    assert reason == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize("n_pages", [0, 3, 58])
def test_a_page_that_hangs_the_cleaner_is_skipped(tmp_path: Path, n_pages: int) -> None:
    """
    A page whose reading does not end, or that kills its worker, affects only itself: it is skipped with URL
    and reason, and all other pages, few or many, have their texts. (In a separate process, with a cleaner
    that hangs in C code.)
    """
    script = tmp_path / "clean.py"
    script.write_text(HANGING_CLEANER)
    result = python(script, n_pages)

    # stderr is not looked at: a worker that was just starting when the pool was stopped may complain there
    assert result.returncode == 0
    assert result.stdout.splitlines() == [
        f"{n_pages} texts",
        "http://site.example/hangs it killed its worker process or took it more than 1 s",
        "http://site.example/crashes it killed its worker process or took it more than 1 s",
    ]


def test_a_script_that_workers_cannot_import_is_told(tmp_path: Path) -> None:
    """A script without ``if __name__ == "__main__":`` cannot have workers: one error, and no page is skipped."""
    script = tmp_path / "clean.py"
    script.write_text(UNGUARDED)

    assert python(script).stdout == "worker processes cannot be started\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signal masks")
def test_ctrl_c_cannot_hit_a_worker_that_starts(tmp_path: Path) -> None:
    """
    The first worker of a process inherits a mask that holds back Ctrl-C: one that was still loading its modules would
    print a traceback.
    """
    script = tmp_path / "mask.py"
    script.write_text(MASK_TELLER)
    done = python(script)

    assert done.stdout == "True\n", done.stderr


def pages(n: int) -> Iterator[Page]:
    for number in range(n):
        yield Page(f"http://site.example/{number}", content_type="text/html", content=f"<p>page {number}".encode())


def test_workers_give_what_one_process_gives() -> None:
    """Two processes, started from a parent with another thread, give all texts in order, including skipped pages."""
    big = Page("http://site.example/big", content_type="text/html", content=b"x" * (MAX_BYTES + 1))
    given = [*pages(150), big, *pages(20)]
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        with TextReader(n_workers=2) as reader:
            texts = list(reader.read(given))
    finally:
        done.set()
        thread.join()

    assert texts == [clean_page(each) for each in given]
    assert [text.url for text, _ in texts] == [each.url for each in given]
    skipped = [(text.url, reason) for text, reason in texts if reason is not None]
    assert skipped == [(big.url, f"{MAX_BYTES + 1} bytes, more than {MAX_BYTES}")]


def test_pages_are_taken_as_texts_are() -> None:
    """An endless crawl can be read, and an empty one: the number of pages read ahead is bounded."""
    with TextReader(n_workers=2) as reader:
        assert list(reader.read([])) == []
        texts = reader.read(pages(10**9))
        assert [next(texts)[0].url for _ in range(3)] == [f"http://site.example/{n}" for n in range(3)]


def test_says_what_is_wrong_with_the_options() -> None:
    """An invalid number of workers is an error at the call, before any page."""
    with pytest.raises(BadInputError, match="n_workers = 0: give 1 or more"):
        TextReader(n_workers=0)


def test_a_reader_is_asked_now_and_then() -> None:
    """The worker that read two pages reads the next one."""
    given = list(pages(3))

    with TextReader(n_workers=1) as reader:
        assert [*reader.read(given[:2]), *reader.read(given[2:])] == [clean_page(page) for page in given]
