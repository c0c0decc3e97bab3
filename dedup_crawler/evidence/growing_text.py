"""Text of a site, counted from its pages as they come, for a crawl whose model has no site text."""

from __future__ import annotations

from collections import Counter, deque

from dedup_crawler.evidence.digests import TITLE, MaskedLine, PageDigests, titles_name_pages
from dedup_crawler.evidence.site_text import FRAME_SHARE, SiteText
from dedup_crawler.labels.lines import lines_of
from dedup_crawler.labels.meters import MeterCounts
from dedup_crawler.pages.records import LabelledPage

MIN_PAGES = 20
"""With fewer pages the text is unknown."""
MAX_PAGES = 200
"""Number of latest pages that are counted; of pages with one title only the first, if titles name pages."""
MAX_CONTENTS = 1_000
"""Number of different first pages whose titles are counted."""
MASKED_PAGES = 4
"""A masked line on this many pages"""
MASKED_SHARE = 0.02
"""and on this share (0-1) of them is shared text."""
NAME_PAGES = 3
"""A masked line with the page's own name is shared if it is on this many pages."""


class GrowingText:
    """Counts the lines of a site's latest pages, unmasked and masked."""

    def __init__(self) -> None:
        self._pages: deque[tuple[str | int, frozenset[int], frozenset[MaskedLine]]] = deque()
        self._keys: set[str | int] = set()  # titles of these pages, or hashes of their contents
        self._contents: set[int] = set()  # of the first pages, to know whether titles name pages
        self._n_of_title: Counter[str] = Counter()  # title -> number of these contents
        self._meters = MeterCounts()
        self._n_of_line: Counter[int] = Counter()
        self._n_of_masked: Counter[MaskedLine] = Counter()
        self._text: SiteText | None = None

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def is_known(self) -> bool:
        """Return True if enough pages were counted to know what they share."""
        return len(self) >= MIN_PAGES

    def see(self, page: LabelledPage) -> None:
        """Count a page, and forget the oldest one."""
        digests = PageDigests([page], frozenset())
        self._meters.see(page.url, page.title, lines_of(page))
        content = hash(digests.pages[0].order)
        title = page.title.lstrip(TITLE) or page.url
        if len(self._contents) < MAX_CONTENTS and content not in self._contents:
            self._contents.add(content)
            self._n_of_title[title] += 1
        is_name = title not in self._keys or titles_name_pages(self._n_of_title.values())
        key = title if is_name else content
        if key in self._keys:
            return
        masked = frozenset(line._replace(is_stamp=False) for line in digests.masked_lines(0).values() if line.is_single)
        self._pages.append((key, digests.pages[0].lines, masked))
        self._keys.add(key)
        self._n_of_line.update(digests.pages[0].lines)
        self._n_of_masked.update(masked)
        self._text = None
        if len(self) > MAX_PAGES:
            key, lines, masked = self._pages.popleft()
            self._keys.remove(key)
            self._n_of_line = +(self._n_of_line - Counter(lines))
            self._n_of_masked = +(self._n_of_masked - Counter(masked))

    def text(self) -> SiteText:
        """Return the text counted so far."""
        if self._text is None:
            n = len(self)
            least = max(MASKED_PAGES, MASKED_SHARE * n)
            counts = self._n_of_masked.items()
            self._text = SiteText.of_lines(
                n,
                self._n_of_line,
                masked_shared=frozenset(
                    line.digest for line, n_on in counts if n_on >= (NAME_PAGES if line.has_name else least)
                ),
                masked_frame=frozenset(line.digest for line, n_on in counts if n_on >= max(FRAME_SHARE * n, 2)),
                meters=self._meters.meters(),
            )
        return self._text
