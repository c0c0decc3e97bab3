"""The pages of a crawl as signatures, and what the pages of one kind have in common."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from dedup_crawler.labels.drafts import Draft
from dedup_crawler.labels.known_digests import KnownDigests
from dedup_crawler.labels.layout import Pages, SiteLayout
from dedup_crawler.labels.lines import Digests, LineTable, lines_of
from dedup_crawler.labels.redirects import Redirects
from dedup_crawler.labels.signatures import MAX_LINES, Signature, plain_signature

Drafts = dict[int, Draft | Signature | None]
"""By position in crawl order; finished where there is nothing to wait for, None for a page with too many lines."""

OWN_SHARE = 0.5
"""A line on more than this share of the pages of one kind belongs to the kind, not to the page."""


class SitePages:
    """Signatures of the pages that have text, by position in the crawl, and the redirects.

    Parameters
    ----------
    pages
        Read once; a second time on sites where a key names the page, and once more if pages have more lines than are
        kept (:data:`~dedup_crawler.labels.signatures.MAX_LINES`).
    """

    def __init__(self, pages: Pages) -> None:
        layout, table = SiteLayout(), LineTable()
        self.redirects, self.digests = Redirects(), KnownDigests()
        drafts = _drafts(pages, layout, table, self.redirects, self.digests)
        layout.settle()
        if layout.naming_keys:
            _find_names(pages, layout, drafts)
        self.layout = layout
        self.common_lines: Digests = table.common_lines(layout.n_pages)
        """Ascending; lines that more than 5 % of the pages share."""
        self.signatures = _signatures(pages, layout, drafts)
        """In crawl order."""
        self._contents_of_kind: defaultdict[int, set[int]] = defaultdict(set)
        self._pages_of_kind: defaultdict[int, list[Signature]] = defaultdict(list)
        for signature in self.signatures.values():
            if signature.plain_title is not None:
                self._contents_of_kind[signature.template].add(signature.content)
                self._pages_of_kind[signature.template].append(signature)
        self._lines_of_kind: dict[int, frozenset[int]] = {}

    def n_own_words(self, signature: Signature) -> int:
        """Words of the content that is not the same on most pages of its kind."""
        kind = signature.template
        if kind not in self._lines_of_kind:
            self._lines_of_kind[kind] = _shared_lines(self._pages_of_kind[kind])
        own = dict(zip(signature.lines.tolist(), signature.words.tolist(), strict=True))
        return sum(n for line, n in own.items() if line not in self._lines_of_kind[kind])

    def is_varied(self, signature: Signature) -> bool:
        """Whether the pages of its kind have more than one content."""
        return len(self._contents_of_kind[signature.template]) > 1


def _drafts(pages: Pages, layout: SiteLayout, table: LineTable, redirects: Redirects, digests: KnownDigests) -> Drafts:
    """What is known of each page with text after reading it once."""
    drafts: Drafts = {}
    for position, page in enumerate(pages()):
        redirects.see(page)
        digests.see(position, page)
        layout.see_url(page.url)
        if page.main_text and not page.title:
            drafts[position] = plain_signature(page)
        elif page.main_text:
            lines = lines_of(page)
            facts = table.facts(lines)
            layout.see_lines(page.url, lines, facts.clocks)
            drafts[position] = Draft.read(page, facts) if len(lines) <= MAX_LINES else None
    return drafts


def _find_names(pages: Pages, layout: SiteLayout, drafts: Drafts) -> None:
    """Find out which shapes of lines with the page's name are decoration."""
    for position, page in enumerate(pages()):
        draft = drafts.get(position)
        if isinstance(draft, Draft):
            draft.find_name(page, layout)
            layout.see_shapes(draft.shapes[:, 1].tolist())
        elif page.main_text and page.title:
            layout.see_shapes(layout.names(page.url).shapes_of(lines_of(page)).values())
    layout.settle_shapes()


def _signatures(pages: Pages, layout: SiteLayout, drafts: Drafts) -> dict[int, Signature]:
    """The signatures of all drafts, which are forgotten on the way."""
    long = _long_signatures(pages, layout, {position for position, draft in drafts.items() if draft is None})
    signatures: dict[int, Signature] = {}
    for position, draft in drafts.items():
        if draft is None:
            signatures[position] = long[position]
        else:
            signatures[position] = draft.signature(layout) if isinstance(draft, Draft) else draft
            drafts[position] = None
    return signatures


def _long_signatures(pages: Pages, layout: SiteLayout, positions: set[int]) -> dict[int, Signature]:
    """The signatures of pages whose lines were not kept."""
    signatures: dict[int, Signature] = {}
    if positions:
        table = LineTable()
        for position, page in enumerate(pages()):
            if position in positions:
                draft = Draft.read(page, table.facts(lines_of(page)))
                if layout.naming_keys:
                    draft.find_name(page, layout)
                signatures[position] = draft.signature(layout)
    return signatures


def _shared_lines(signatures: list[Signature]) -> frozenset[int]:
    """Lines on more than half of some pages."""
    lines, n_pages = np.unique(np.concatenate([np.unique(each.lines) for each in signatures]), return_counts=True)
    return frozenset(lines[n_pages > OWN_SHARE * len(signatures)].tolist())
