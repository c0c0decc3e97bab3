"""Reads the text by which pages are compared: the paragraphs of jusText, one on each line, with boilerplate marked.

jusText keeps long paragraphs with many stop words. Of lists, tables and code (half to three quarters of the pages of
many sites) it keeps nothing, and what it drops may be all that tells two pages apart. So nothing is dropped here: a
line that jusText calls boilerplate starts with a tab, and the labeller decides later what to compare.

Redirects, bodies that are neither HTML nor text (images, archives), and pages over the limits below have no text.
"""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future

from dedup_crawler.errors import BadInputError
from dedup_crawler.labels.html import HtmlText, read_html, stop_words
from dedup_crawler.labels.lines import content_kind, decode, file_digest
from dedup_crawler.labels.published import fingerprint, simhash_package
from dedup_crawler.pages.records import Page, PageText
from dedup_crawler.pages.workers import WorkerDiedError, Workers

MAX_BYTES = 5_000_000
"""Bytes of the longest body that is parsed: parsing takes seconds, and a hundred times the size in memory."""
MAX_SECONDS = 30.0
"""Seconds after which a page is skipped."""

_PAGES_PER_WORKER = 64
"""Pages in flight for each worker, so that a slow page does not leave other workers without work."""

OnSkip = Callable[[str, str], None]
"""Called with the URL and the reason for each page whose text could not be read."""
Outcome = tuple[PageText, str | None]
"""Text of a page, and the reason why it could not be read, or None."""


class TextReader:
    """Reads the texts of pages in worker processes; a context manager.

    If a page crashes its worker or takes more than :data:`MAX_SECONDS`, only its own text is lost. A script needs the
    usual ``if __name__ == "__main__":``.

    *language* is that of pages that do not declare theirs, for the stop words; one of ``justext.get_stoplists()``.
    *n_workers* is the number of processes, by default one for each core.

    BadInputError if *n_workers* is less than 1 or the language is unknown; from :meth:`read`, if no process can be
    started. MissingExtraError if the package simhash is not installed.
    """

    def __init__(self, language: str = "English", n_workers: int | None = None) -> None:
        self._language = language
        self._n_workers = (os.cpu_count() or 1) if n_workers is None else n_workers
        if self._n_workers < 1:
            raise BadInputError(f"n_workers = {n_workers}: give 1 or more")
        stop_words(language)  # fail here, not in a worker
        simhash_package()
        self._workers = Workers(self._n_workers, MAX_SECONDS, modules=[__name__])

    def __enter__(self) -> TextReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self._workers.__exit__(*exception)

    def read(self, pages: Iterable[Page]) -> Iterator[Outcome]:
        """Text of each page, in order; reads further pages only as texts are taken."""
        upcoming = iter(pages)
        waiting: deque[tuple[Page, Future[Outcome] | None]] = deque()
        while True:
            for page in itertools.islice(upcoming, self._n_workers * _PAGES_PER_WORKER - len(waiting)):
                # nothing is read of a redirect: on the way to a worker it would cost more than many a page
                text = None if _is_redirect(page) else self._workers.call(clean_page, page, self._language)
                waiting.append((page, text))
            if not waiting:
                return
            page, text = waiting.popleft()
            if text is None:
                yield _no_text(page), None
                continue
            try:
                yield self._workers.result_of(text)
            except WorkerDiedError:
                yield _no_text(page), f"it killed its worker process or took it more than {MAX_SECONDS:g} s"


def clean_pages(
    pages: Iterable[Page], *, n_workers: int | None = None, language: str = "English", on_skip: OnSkip | None = None
) -> Generator[PageText, None, None]:
    """Read the texts of *pages*, in order, with a bounded number of pages in memory.

    Closing the iterator early stops the processes. *on_skip* is called for each page that is over a limit
    (:data:`MAX_BYTES`, :data:`MAX_SECONDS`), that the cleaner failed on or that killed its worker; such a page has an
    empty text. The other options and the errors are those of :class:`TextReader`.
    """
    reader = TextReader(language, n_workers)  # fails here, not when the first text is taken

    def texts() -> Generator[PageText, None, None]:
        with reader:
            for text, reason in reader.read(pages):
                if reason is not None and on_skip is not None:
                    on_skip(text.url, reason)
                yield text

    return texts()


def clean_page(page: Page, language: str = "English", *, with_fingerprint: bool = True) -> Outcome:
    """Read the text of one page; raises nothing."""
    if page.content and len(page.content) > MAX_BYTES and not _is_redirect(page):
        return _no_text(page), f"{len(page.content)} bytes, more than {MAX_BYTES}"
    try:
        return _read(page, language, with_fingerprint)
    except Exception as error:  # noqa: BLE001 - one page must not end the run, whatever error a parser raises
        return _no_text(page), f"{type(error).__name__}: {error}"


def _is_redirect(page: Page) -> bool:
    """Return True if the status of a page is a redirect."""
    return 300 <= page.status < 400


def _read(page: Page, language: str, with_fingerprint: bool) -> Outcome:
    fingerprint_of = fingerprint if with_fingerprint else _none
    kind = "" if _is_redirect(page) else content_kind(page.content, page.content_type)
    if not kind:
        return _no_text(page, None if _is_redirect(page) else file_digest(page.content)), None
    decoded = decode(page.content, page.content_type).replace("\0", "\ufffd")
    if kind == "text":
        lines = _lines(decoded.splitlines())
        return PageText(page.url, "", None, lines, fingerprint_of(lines), file_digest(page.content)), None
    html = read_html(decoded, page.url, language)
    if html.is_cut:
        reason = "nested too deep to be read whole"
        return PageText(page.url, html.title, html.canonical_link, "", None), reason
    text = _marked(html)
    return PageText(page.url, html.title, html.canonical_link, text, fingerprint_of(text)), None


def _none(text: str) -> None:
    """Return no fingerprint."""


def _no_text(page: Page, digest: str | None = None) -> PageText:
    return PageText(page.url, title="", canonical_link=None, main_text="", simhash=None, digest=digest)


def _marked(html: HtmlText) -> str:
    found = ((" ".join(each.text.split()), each.is_main) for each in html.paragraphs)
    return "\n".join(text if is_main else "\t" + text for text, is_main in found if text)


def _lines(texts: Iterable[str]) -> str:
    """Join texts, one on each line, with white space folded; empty texts are left out."""
    folded = (" ".join(text.split()) for text in texts)
    return "\n".join(line for line in folded if line)
