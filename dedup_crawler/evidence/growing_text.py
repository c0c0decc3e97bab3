"""Text of a site that is counted from its pages as they come, for a crawl whose model knows none."""

from __future__ import annotations

from collections import Counter, deque

from dedup_crawler.evidence.digests import TITLE, MaskedLine, PageDigests
from dedup_crawler.evidence.site_text import FRAME_SHARE, SiteText
from dedup_crawler.pages.records import LabelledPage

MIN_PAGES = 20
"""With fewer pages nothing is known."""
MAX_PAGES = 200
"""The latest pages that are counted; of pages with one title the first."""
MASKED_PAGES = 4
"""A masked line on so many pages ..."""
MASKED_SHARE = 0.02
"""... and on this share (0-1) of them says nothing of its own."""
NAME_PAGES = 3
"""One with the page's own name has to be on so many."""


class GrowingText:
    """Counts the lines of a site's latest pages, as they are and masked."""

    def __init__(self) -> None:
        self._pages: deque[tuple[str, frozenset[int], frozenset[MaskedLine]]] = deque()
        self._titles: set[str] = set()
        self._n_of_line: Counter[int] = Counter()
        self._n_of_masked: Counter[MaskedLine] = Counter()
        self._text: SiteText | None = None

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def is_known(self) -> bool:
        """Tell whether enough pages were seen to say what they share."""
        return len(self) >= MIN_PAGES

    def see(self, page: LabelledPage) -> None:
        """Count a page, and forget the one that was seen longest ago."""
        title = page.title.lstrip(TITLE) or page.url
        if title in self._titles:
            return
        digests = PageDigests([page])
        masked = frozenset(line._replace(is_stamp=False) for line in digests.masked_lines(0).values() if line.is_single)
        self._pages.append((title, digests.pages[0].lines, masked))
        self._titles.add(title)
        self._n_of_line.update(digests.pages[0].lines)
        self._n_of_masked.update(masked)
        self._text = None
        if len(self) > MAX_PAGES:
            title, lines, masked = self._pages.popleft()
            self._titles.remove(title)
            self._n_of_line = +(self._n_of_line - Counter(lines))
            self._n_of_masked = +(self._n_of_masked - Counter(masked))

    def text(self) -> SiteText:
        """Text as far as it is known."""
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
            )
        return self._text
