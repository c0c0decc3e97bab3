"""Comparison of two fetched pages; HTML as learning does it (:mod:`dedup_crawler.evidence.two_fetches`).

The comparer judges HTML, with the text of the site, which is learnt from the fetched pages. Other bodies are the same
if all lines of a text are equal, or all bytes. The pages of owners, which explored pages are compared with, are kept in
bounded memory.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from dedup_crawler.evidence.site_text import N_BESIDE
from dedup_crawler.labels.lines import MIN_FILE_BYTES, MIN_WORDS, content_kind, decode, n_words
from dedup_crawler.live.collecting.response_page import Beside, FetchedPage
from dedup_crawler.pages.records import LabelledPage

if TYPE_CHECKING:
    from dedup_crawler.evidence.site_text import SiteText
    from dedup_crawler.evidence.two_fetches import GrowingText

MAX_BYTES = 2**19
"""Longer HTML is not parsed: it would delay the crawl."""
UNTITLED = "\1"
"""Title of HTML without one."""
FIRST_PAGES = 50
"""Number of first pages that are all read; later only a sample: reading takes a tenth of the fetch time."""
EVERY = 8
"""One page in 8 is read until MANY_PAGES were read,"""
MANY_PAGES = 200
EVERY_LATER = 32
"""and one in 32 from then on."""
MAX_KEPT_BYTES = 32 * 2**20
"""Bound on all kept pages; a page larger than this is not kept."""
_OVERHEAD = 500
"""Approximate bytes of an entry besides its body and its texts."""


def needs_site_text(left: FetchedPage, right: FetchedPage) -> bool:
    """Return True if comparing the two pages needs the text of the site."""
    return _kind(left) == _kind(right) == "html"


def same_page(
    left: FetchedPage, right: FetchedPage, site: SiteText | None = None, rules: Iterable[str] = ()
) -> bool | None:
    """Compare two good answers to which *rules* give one form.

    None if undecided: an empty page, too little text, a cut body, small differences, or HTML of a site whose text is
    not known.
    """
    if not left.n_bytes or not right.n_bytes:
        return None
    kinds = {_kind(left), _kind(right)}
    if kinds == {"html"}:
        return _same_html(left, right, site, rules)
    if "html" in kinds:  # the links of the one are no links in the other, even if the bytes are equal
        return False
    is_equal = left.digest == right.digest and left.n_bytes == right.n_bytes
    if kinds != {"text"}:  # one file may be shown as text, and offered for download as another type
        return (left.n_bytes >= MIN_FILE_BYTES or None) if is_equal else False
    lines = _lines(left)
    if lines != _lines(right):
        return False
    is_whole = is_equal or not (left.is_cut or right.is_cut)
    return True if is_whole and n_words("\n".join(lines)) >= MIN_WORDS else None


@lru_cache(64)  # tests at about the same time look at the same pages
def read(page: FetchedPage) -> LabelledPage | None:
    """Read HTML as learning does; None for other content, or if it cannot be read completely."""
    from dedup_crawler.labels.html import read_html  # loaded only if pages are compared

    if _kind(page) != "html" or page.n_bytes > MAX_BYTES:
        return None
    try:
        html = read_html(_text(page), page.url)
    except Exception:  # noqa: BLE001 - no parser error may end the crawl
        return None
    if html.is_cut:
        return None
    return LabelledPage(page.url, None, 200, None, html.title or UNTITLED, html.text, None, None)


def frames_of_time(owner: FetchedPage, duplicate: FetchedPage, beside: Iterable[Sequence[FetchedPage]]) -> set[int]:
    """Return hashes of the lines shown by nearly all pages that were fetched around the time of either page.

    *beside* are groups of pages fetched just before one of the two, or just after it, the nearest first.
    """
    from dedup_crawler.evidence.digests import PageDigests
    from dedup_crawler.evidence.site_text import frame_of_time

    titles = {page.title for page in (read(owner), read(duplicate)) if page is not None}
    frame: set[int] = set()
    for pages in beside:
        digests = (PageDigests([page], frozenset()).pages[0] for page in map(read, pages) if page is not None)
        frame |= frame_of_time(digests, titles)
    return frame


def _same_html(left: FetchedPage, right: FetchedPage, site: SiteText | None, rules: Iterable[str]) -> bool | None:
    from dedup_crawler.evidence.digests import PageDigests
    from dedup_crawler.evidence.two_fetches import compare_fetches

    if site is None or (one := read(left)) is None or (other := read(right)) is None:
        return None
    pages = map(site.rotating.without, (one, other))
    verdict = compare_fetches(PageDigests(pages, site.meters), site, site.habits_of(rules))
    return None if verdict < 0 else bool(verdict)


def _kind(page: FetchedPage) -> str:
    return content_kind(page.body if not page.content_type else b"", page.content_type)


def _text(page: FetchedPage) -> str:
    return decode(page.body, page.content_type or None).replace("\0", "\ufffd")


def _lines(page: FetchedPage) -> list[str]:
    return [" ".join(line.split()) for line in _text(page).splitlines() if line.strip()]


class OwnerPages:
    """Form digest -> page; the least recently used pages are removed first."""

    def __init__(self) -> None:
        # form -> place in the crawl, page, rules
        self._pages: OrderedDict[bytes, tuple[int, FetchedPage, tuple[str, ...]]] = OrderedDict()
        self._n_put = 0
        self.n_bytes = 0
        """Approximate memory of the pages."""

    def __contains__(self, form_digest: bytes) -> bool:
        return form_digest in self._pages

    def put(self, form_digest: bytes, page: FetchedPage, rules: tuple[str, ...] = ()) -> None:
        """Keep the page of a form, replacing an earlier one; *rules* if it is only that of a duplicate by these."""
        self.forget(form_digest)
        size = _size(page)
        if size > MAX_KEPT_BYTES:
            return
        while self.n_bytes + size > MAX_KEPT_BYTES:
            self.n_bytes -= _size(self._pages.popitem(last=False)[1][1])
        self._n_put += 1
        self._pages[form_digest] = self._n_put, page, rules
        self.n_bytes += size

    def get(self, form_digest: bytes) -> FetchedPage | None:
        """Return the page of a form, if it is kept."""
        if form_digest not in self._pages:
            return None
        self._pages.move_to_end(form_digest)
        return self._pages[form_digest][1]

    def rules_of(self, form_digest: bytes) -> tuple[str, ...]:
        """Return the rules of a duplicate that stands for the unknown owner of a form; none if the owner is known."""
        return self._pages[form_digest][2] if form_digest in self._pages else ()

    def beside(self, form_digest: bytes) -> Beside:
        """Return the pages fetched just before that of a form, and just after it, the nearest first."""
        if form_digest not in self._pages:
            return [], []
        place = self._pages[form_digest][0]
        return self._between(place - N_BESIDE, place - 1)[::-1], self._between(place + 1, place + N_BESIDE)

    def latest(self) -> list[FetchedPage]:
        """Return the last pages, the latest first."""
        return self._between(self._n_put - N_BESIDE, self._n_put)[::-1]

    def _between(self, first: int, last: int) -> list[FetchedPage]:
        return [page for _, page, _ in sorted(each for each in self._pages.values() if first <= each[0] <= last)]

    def items(self) -> Iterator[tuple[bytes, FetchedPage]]:
        """Yield form digest and page of all kept pages."""
        return ((form, page) for form, (_, page, _) in self._pages.items())

    def forget(self, form_digest: bytes) -> None:
        """Remove the page of a form, if it is kept: its owner was released or replaced."""
        if form_digest in self._pages:
            self.n_bytes -= _size(self._pages.pop(form_digest)[1])

    def clear(self) -> None:
        """Remove all pages: the forms now come from another model."""
        self._pages.clear()
        self.n_bytes = 0


def _size(page: FetchedPage) -> int:
    return len(page.packed) + len(page.url) + len(page.final_url) + len(page.content_type) + _OVERHEAD


class PagesOfSite:
    """The sampled pages of one site, and the text learnt from them.

    Pages are read only when the text is first needed: a site without explorations needs none.
    """

    def __init__(self) -> None:
        self._text: GrowingText | None = None
        self._n_offered = 0
        self._n_read = 0
        self._unread: deque[bytes] = deque(maxlen=FIRST_PAGES)  # forms of sampled pages

    def offer(self, form: bytes, page: FetchedPage) -> None:
        """Take the fetched page of a form into the sample if its turn has come."""
        self._n_offered += 1
        every = EVERY if self._n_read < MANY_PAGES else EVERY_LATER
        if self._n_read + len(self._unread) < FIRST_PAGES or self._n_offered % every == 0:
            if self._text is None:
                self._unread.append(form)
            else:
                self._see(self._text, page)

    def text(self, pages: OwnerPages) -> SiteText | None:
        """Return the text of the site, or None if not known yet. Offered pages are read if *pages* still has them."""
        if self._text is None:
            from dedup_crawler.evidence.two_fetches import GrowingText

            self._text = GrowingText()
        while self._unread:
            page = pages.get(self._unread.popleft())
            if page is not None:
                self._see(self._text, page)
        return self._text.text() if self._text.is_known else None

    def _see(self, text: GrowingText, page: FetchedPage) -> None:
        self._n_read += 1
        if (known := read(page)) is not None:
            text.see(known)
