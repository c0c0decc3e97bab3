"""Reads a page: its text, by which pages are compared, and its links, as evidence for referrer rules.

The text has the paragraphs of jusText, one on each line (:mod:`dedup_crawler.labels.html`).
Redirects, bodies that are neither HTML nor text (images, archives), and pages over the limits below have no text.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import signal
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, TimeoutError
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import lxml.etree
import lxml.html
from pebble import ProcessExpired, ProcessPool

from dedup_crawler.errors import BadInputError
from dedup_crawler.labels.html import read_html
from dedup_crawler.labels.lines import content_kind, decode, file_digest
from dedup_crawler.labels.published import fingerprint, simhash_package
from dedup_crawler.pages.records import Page, PageText
from dedup_crawler.urls.page_links import MAX_BYTES as MAX_LINKED_BYTES

if TYPE_CHECKING:
    from dedup_crawler.pages.store import PageStore

MAX_BYTES = 5_000_000
"""Bytes of the longest body that is parsed: parsing takes seconds, and a hundred times the size in memory."""
MAX_SECONDS = 30.0
"""Seconds after which a page is skipped."""

_PAGES_PER_WORKER = 64
"""Pages in flight for each worker, so that a slow page does not leave other workers without work."""
_MAX_FOLDER = 50  # characters of the folder for temporary files: the address of the server in it has at most 107

Outcome = tuple[PageText, str | None]
"""Text of a page, and the reason why it could not be read, or None."""


class TextReader:
    """Reads the texts of pages in worker processes, because a page may hang the parser; a context manager.

    If a page crashes its worker or takes more than :data:`MAX_SECONDS`, only its own text is lost. The parent, which
    may have threads, is never forked. Where the system can, workers are forks of a server that has imported this
    module; elsewhere each is spawned, and imports it itself. A script needs the usual ``if __name__ == "__main__":``.

    *n_workers* is the number of processes, by default one for each core.

    BadInputError if *n_workers* is less than 1; from :meth:`read`, if no process can be started.
    MissingExtraError if the package simhash is not installed.
    """

    def __init__(self, n_workers: int | None = None) -> None:
        self._n_workers = (os.cpu_count() or 1) if n_workers is None else n_workers
        if self._n_workers < 1:
            raise BadInputError(f"n_workers = {n_workers}: give 1 or more")
        simhash_package()  # fail here, not in a worker
        has_server = "forkserver" in multiprocessing.get_all_start_methods()
        is_short = len(tempfile.gettempdir()) <= _MAX_FOLDER
        self._context = multiprocessing.get_context("forkserver" if has_server and is_short else "spawn")
        self._context.set_forkserver_preload([__name__])
        self._pool = self._started()
        self._has_worked = False

    def __enter__(self) -> TextReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()

    def read(self, pages: Iterable[Page]) -> Iterator[Outcome]:
        """Text of each page, in order; reads further pages only as texts are taken."""
        upcoming = iter(pages)
        waiting: deque[tuple[Page, Future[Outcome] | None]] = deque()
        while True:
            for page in itertools.islice(upcoming, self._n_workers * _PAGES_PER_WORKER - len(waiting)):
                # nothing is read of a redirect: on the way to a worker it would cost more than many a page
                waiting.append((page, None if _is_redirect(page) else self._begun(page)))
            if not waiting:
                return
            page, call = waiting.popleft()
            yield (_no_text(page), None) if call is None else self._outcome(page, call)

    def _started(self) -> ProcessPool:
        return ProcessPool(self._n_workers, context=self._context)

    def _begun(self, page: Page) -> Future[Outcome]:
        """Have a worker read a page."""
        with _interrupts_held_back():
            try:
                return self._pool.schedule(clean_page, (page,), timeout=MAX_SECONDS)
            except RuntimeError:  # all idle processes died
                self._pool = self._started()
                return self._pool.schedule(clean_page, (page,), timeout=MAX_SECONDS)

    def _outcome(self, page: Page, call: Future[Outcome]) -> Outcome:
        """Wait for what a worker reads of a page."""
        try:
            outcome = call.result()
        except (TimeoutError, ProcessExpired, BrokenProcessPool) as error:
            if isinstance(error, BrokenProcessPool) and not self._has_worked:
                raise BadInputError(
                    "worker processes cannot be started: put the code of your script under if __name__ == "
                    "'__main__':, because each process imports the script"
                ) from None
            return _no_text(page), f"it killed its worker process or took it more than {MAX_SECONDS:g} s"
        self._has_worked = True
        return outcome


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Block Ctrl-C while workers start: they inherit the signal mask, so Ctrl-C cannot hit them during imports."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # it unblocks Ctrl-C when it starts, which would be just before the first worker
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def clean_page(page: Page, *, with_fingerprint: bool = True) -> Outcome:
    """Read the text of one page; raises nothing."""
    try:
        text, reason = _read(page)
        return (replace(text, simhash=fingerprint(text.main_text)) if with_fingerprint else text), reason
    except Exception as error:  # noqa: BLE001 - one page must not end the run, whatever error a parser raises
        return _no_text(page), f"{type(error).__name__}: {error}"


def _read(page: Page) -> Outcome:
    """Read a page, without its fingerprint."""
    if _is_redirect(page):
        return _no_text(page), None
    if len(page.content) > MAX_BYTES:
        return _no_text(page), f"{len(page.content)} bytes, more than {MAX_BYTES}"
    kind = content_kind(page.content, page.content_type)
    if not kind:
        return _no_text(page, file_digest(page.content)), None
    decoded = decode(page.content, page.content_type).replace("\0", "\ufffd")
    if kind == "text":
        folded = (" ".join(line.split()) for line in decoded.splitlines())
        return PageText(page.url, "", None, "\n".join(filter(None, folded)), None, file_digest(page.content)), None
    html = read_html(decoded, page.url)
    reason = "nested too deep to be read whole" if html.is_cut else None
    return PageText(page.url, html.title, html.canonical_link, "" if html.is_cut else html.text, None), reason


def _is_redirect(page: Page) -> bool:
    return 300 <= page.status < 400


def _no_text(page: Page, digest: str | None = None) -> PageText:
    return PageText(page.url, title="", canonical_link=None, main_text="", simhash=None, digest=digest)


def links_of(page: Page) -> Iterator[str]:
    """Yield the absolute URLs of the links on a page, each once, without fragments.

    None for anything but HTML with status 200-299. Of broken HTML those that the parser finds.
    """
    is_short = 0 < len(page.content) <= MAX_LINKED_BYTES
    if page.status >= 300 or not is_short or content_kind(page.content, page.content_type) != "html":
        return
    parser = lxml.html.HTMLParser(encoding="utf-8")
    try:
        tree = lxml.html.fromstring(decode(page.content, page.content_type).encode(errors="replace"), parser=parser)
    except (lxml.etree.LxmlError, ValueError):
        return
    base = next((each.get("href") for each in tree.iter("base") if each.get("href")), "")
    hrefs = (each.get("href") for each in tree.iter("a", "area"))
    found: dict[str, None] = {}
    for href in dict.fromkeys(href.strip() for href in hrefs if href):
        with contextlib.suppress(ValueError):  # such as an unclosed bracket in the host
            found[urljoin(urljoin(page.url, base), href).partition("#")[0]] = None
    yield from found


def stored_links(store: PageStore) -> Callable[[str], Iterable[str]]:
    """Return :func:`links_of` for the pages of *store*, by their URLs; the store must stay open."""

    def links_on(url: str) -> Iterable[str]:
        page = store.get(url)
        return links_of(page) if page is not None else ()

    return links_on
