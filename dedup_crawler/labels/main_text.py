"""The text to compare pages by: the paragraphs of jusText, a line each, boilerplate marked as such.

jusText keeps long paragraphs with many stop words. On lists, tables and code, which is half to three quarters of the
pages of many sites, it keeps nothing, and where it keeps little, what it drops is often what tells two pages apart.
So nothing is dropped here: a line that jusText calls boilerplate starts with a tab, and the labeller decides what to
compare when it knows the whole site.

No text have redirects, bodies that are neither HTML nor text (images, archives: such pages are joined by redirects
only), and pages over the limits below.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator

from dedup_crawler.errors import BadInputError
from dedup_crawler.labels.html import HtmlText, read_html, stop_words
from dedup_crawler.labels.lines import decode
from dedup_crawler.labels.simhash import fingerprint, simhash_package
from dedup_crawler.labels.workers import WorkerPool, time_limit
from dedup_crawler.pages.records import Page, PageText

MAX_BYTES = 5_000_000
"""A longer body is not parsed: it would hold a worker for seconds and take a hundred times its size in memory."""
MAX_SECONDS = 30.0
"""A page that takes a worker longer is skipped."""

CHUNK_PAGES = 32
CHUNK_BYTES = 1_000_000

_HTML_START = re.compile(rb"\s*(<!doctype html|<html|<head|<body)", re.IGNORECASE)

OnSkip = Callable[[str, str], None]
"""Called with the URL and the reason for each page whose text could not be read."""
Outcome = tuple[PageText, str | None]
"""The text of a page, and why it could not be read, or None."""


def clean_pages(
    pages: Iterable[Page],
    *,
    n_workers: int | None = None,
    language: str = "English",
    on_skip: OnSkip | None = None,
) -> Generator[PageText, None, None]:
    """Read the texts of *pages*: one each, in their order, with a bounded number of pages in memory.

    Closing the iterator early stops the processes.

    Parameters
    ----------
    pages
        Any number; taken as results are.
    n_workers
        Processes; by default one a core, and never more than there is work for. Even one page is read in a process of
        its own, for it may never come back. A script that is run directly needs the usual
        ``if __name__ == "__main__":``.
    language
        Whose stop words jusText counts on pages that do not tell theirs; one of ``justext.get_stoplists()``.
    on_skip
        Called for each page that is over a limit (:data:`MAX_BYTES`, :data:`MAX_SECONDS`), that the cleaner failed on
        or that killed its worker; such a page has an empty text.

    Raises
    ------
    BadInputError
        If *n_workers* is less than 1 or the language is not known; later, if no process can be started.
    MissingExtraError
        If the package simhash is not installed.
    """
    n_workers = (os.cpu_count() or 1) if n_workers is None else n_workers
    if n_workers < 1:
        raise BadInputError(f"n_workers = {n_workers}: give 1 or more")
    _check(language)
    return _texts(pages, n_workers, functools.partial(_clean_in_time, language=language), on_skip)


class TextReader:
    """Reads texts now and then, under the same limits, with one worker that is kept in between; a context manager."""

    def __init__(self, language: str = "English") -> None:
        _check(language)
        self._pool = WorkerPool(functools.partial(_clean_in_time, language=language), _worker_died, 1)

    def __enter__(self) -> TextReader:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._pool.__exit__(*exc_info)

    def read(self, pages: Iterable[Page]) -> list[PageText]:
        """Text of each page; empty where it could not be read."""
        return [text for text, _ in self._pool.map([list(pages)])]


def _texts(
    pages: Iterable[Page], n_workers: int, clean: Callable[[list[Page]], list[Outcome]], on_skip: OnSkip | None
) -> Generator[PageText, None, None]:
    with WorkerPool(clean, _worker_died, n_workers) as pool:
        for text, reason in pool.map(_chunks(pages)):
            if reason is not None and on_skip is not None:
                on_skip(text.url, reason)
            yield text


def _chunks(pages: Iterable[Page]) -> Iterator[list[Page]]:
    """Enough pages for one message to a worker, but not much more than a megabyte of them."""
    chunk: list[Page] = []
    n_bytes = 0
    for page in pages:
        chunk.append(page)
        n_bytes += len(page.content)
        if len(chunk) == CHUNK_PAGES or n_bytes >= CHUNK_BYTES:
            yield chunk
            chunk, n_bytes = [], 0
    if chunk:
        yield chunk


def _clean_in_time(pages: list[Page], language: str) -> list[Outcome]:
    outcomes = []
    for page in pages:
        with time_limit(MAX_SECONDS):
            outcomes.append(clean_page(page, language))
    return outcomes


def _worker_died(page: Page) -> Outcome:
    return _no_text(page), f"it killed its worker process or took it more than {MAX_SECONDS:g} s"


def clean_page(page: Page, language: str = "English") -> Outcome:
    """Read the text of one page; raises nothing."""
    if page.content and len(page.content) > MAX_BYTES and not 300 <= page.status < 400:
        return _no_text(page), f"{len(page.content)} bytes, more than {MAX_BYTES}"
    try:
        return _read(page, language)
    except Exception as error:  # noqa: BLE001 - one page must not end the run, whatever it does to three parsers
        return _no_text(page), f"{type(error).__name__}: {error}"


def _read(page: Page, language: str) -> Outcome:
    kind = "" if 300 <= page.status < 400 else _kind(page)
    if not kind:
        return _no_text(page), None
    decoded = decode(page.content, page.content_type).replace("\0", "\ufffd")
    if kind == "text":
        lines = _lines(decoded.splitlines())
        return PageText(page.url, "", None, lines, fingerprint(lines)), None
    html = read_html(decoded, page.url, language)
    if html.is_cut:
        reason = "nested too deep to be read whole"
        return PageText(page.url, html.title, html.canonical_link, "", None), reason
    text = _marked(html)
    return PageText(page.url, html.title, html.canonical_link, text, fingerprint(text)), None


def _check(language: str) -> None:
    """Fail here, not in a worker."""
    stop_words(language)
    simhash_package()


def _no_text(page: Page) -> PageText:
    return PageText(page.url, title="", canonical_link=None, main_text="", simhash=None)


def _kind(page: Page) -> str:
    """``html``, ``text``, or nothing for a body that has no text to read."""
    declared = (page.content_type or "").partition(";")[0].strip().lower()
    if declared in ("text/html", "application/xhtml+xml"):
        return "html"
    if declared:
        return "text" if declared.startswith("text/") else ""
    if _HTML_START.match(page.content):
        return "html"
    return "" if b"\0" in page.content[:1024] else "text"


def _marked(html: HtmlText) -> str:
    found = ((" ".join(each.text.split()), each.is_main) for each in html.paragraphs)
    return "\n".join(text if is_main else "\t" + text for text, is_main in found if text)


def _lines(texts: Iterable[str]) -> str:
    """One line a text: white space folded, empty ones left out."""
    folded = (" ".join(text.split()) for text in texts)
    return "\n".join(line for line in folded if line)
