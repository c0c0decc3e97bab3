"""Signatures, by which pages are compared: hashes of a page's text and of its lines, and the arguments of its URL.

A signature has at most some 40 kB, usually one, whatever the size of the page; texts are not kept. So the pages of a
crawl are gone through twice: to learn what is decoration on this site, and to sign what is not. Where a key of the
query names the page there is one more round in between.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dedup_crawler.labels.arguments import Argument, address_free
from dedup_crawler.labels.joins import TextlessJoins
from dedup_crawler.labels.layout import Pages, SiteLayout
from dedup_crawler.labels.lines import LineFacts, digest, digest_of_all, line_facts, lines_of, n_words, numbers_of
from dedup_crawler.pages.records import LabelledPage

Lines = npt.NDArray[np.uint64]
Words = npt.NDArray[np.uint16]
FactsOf = Callable[[str], LineFacts]

MAX_LINES = 4_000
"""A page with more lines is compared for equality only."""
MAIN_SHARE = 0.8
"""jusText's main text stands for the page where it has at least this share of its words."""
TOO_MANY = 65_535
"""Stands for the words of a line with a number of the URL: an id, not a counter."""
OWN_SHARE = 0.5
"""A line on more than this share of the pages of one kind belongs to the kind, not to the page."""
MEMO_LINES = 100_000
"""Lines whose facts are remembered, for most are on many pages."""
MEMO_LENGTH = 500
"""Most characters of a line whose facts are remembered."""

NO_LINES: Lines = np.empty(0, np.uint64)
NO_WORDS: Words = np.empty(0, np.uint16)


@dataclass(frozen=True, slots=True)
class Signature:
    """One page with text; hashes are 64 bits."""

    status: int
    title: int
    """Hash of the title; 0 for a page without a title, mostly a text file."""
    text: int
    """Hash of the title and all lines."""
    content: int
    """Hash of the title and the lines that are not decoration."""
    main: int | None
    """Hash of the content that jusText keeps; None where that is not most of the page."""
    n_text_words: int
    """Words of all lines."""
    n_words: int
    """Words of the content."""
    lines: Lines
    """Each line of the content; none for a page without a title or with too many lines."""
    words: Words
    """Number of words of each of these lines; 65,535 for one with a number of the URL: an id, not a counter."""
    plain_title: int | None
    """Hash of the title with the page's name masked; None where the title does not hold it."""
    template: int
    """Hash of the URL without the values of its open arguments; 0 where there is no plain title."""
    open_arguments: tuple[Argument, ...]
    """Arguments of the URL that neither name the page nor choose its kind."""
    address_free: int | None
    """Hash of title and lines without the page's own address; None where it is not printed."""


class SitePages:
    """Signatures of the pages that have text, by position in the crawl, and what their kinds have in common."""

    def __init__(self, pages: Pages) -> None:
        remembered = functools.lru_cache(MEMO_LINES)(line_facts)

        def facts_of(line: str) -> LineFacts:
            return remembered(line) if len(line) <= MEMO_LENGTH else line_facts(line)

        self.textless, self.layout = TextlessJoins(), SiteLayout()
        for page in pages():
            self.textless.see(page)
            self.layout.see(page)
        self.layout.settle(pages)
        self.signatures = {
            position: signature_of(page, self.layout, facts_of)
            for position, page in enumerate(pages())
            if page.main_text
        }
        """Position in the crawl -> signature, in crawl order."""
        self._pages_of_kind: defaultdict[int, list[Signature]] = defaultdict(list)
        for signature in self.signatures.values():
            if signature.plain_title is not None:
                self._pages_of_kind[signature.template].append(signature)
        self._lines_of_kind: dict[int, frozenset[int]] = {}

    def n_own_words(self, signature: Signature) -> int:
        """Words of the content that is not the same on most pages of its kind."""
        kind = signature.template
        if kind not in self._lines_of_kind:
            self._lines_of_kind[kind] = _shared_lines(self._pages_of_kind[kind])
        own = dict(zip(signature.lines.tolist(), signature.words.tolist(), strict=True))
        return sum(n for line, n in own.items() if line not in self._lines_of_kind[kind])


def signature_of(page: LabelledPage, layout: SiteLayout, facts_of: FactsOf = line_facts) -> Signature:
    """Sign a page with text; of one without a title, mostly a text file, only the whole text counts."""
    if not page.title:
        text, n = digest(page.main_text), n_words(page.main_text)
        return Signature(page.status, 0, text, text, None, n, n, NO_LINES, NO_WORDS, None, 0, (), address_free(page))
    lines = lines_of(page)
    facts = list(map(facts_of, lines))
    decoration = layout.decoration(page.url, lines)
    content = [line for index, line in enumerate(facts) if index not in decoration]
    n_content_words = sum(line.n_words for line in content)
    plain_title = layout.names(page.url).plain_title(page.title)
    template, open_arguments = layout.kind_of(page.url) if plain_title is not None else (0, ())
    ids = numbers_of(page.url)
    digests = np.array([line.digest for line in content], np.uint64)
    words = [min(line.n_words, TOO_MANY) if ids.isdisjoint(line.numbers) else TOO_MANY for line in content]
    is_compared = len(content) <= MAX_LINES
    return Signature(
        status=page.status,
        title=digest(page.title),
        text=digest_of_all([line.digest for line in facts]),
        content=digest_of_all([line.digest for line in content]),
        main=_main(page, facts, decoration, n_content_words),
        n_text_words=sum(line.n_words for line in facts),
        n_words=n_content_words,
        lines=digests if is_compared else NO_LINES,
        words=np.array(words, np.uint16) if is_compared else NO_WORDS,
        plain_title=None if plain_title is None else digest(plain_title),
        template=template,
        open_arguments=open_arguments,
        address_free=address_free(page),
    )


def changes(left: Signature, right: Signature) -> tuple[int, int]:
    """Return how many lines differ between two pages of equal length, and how many words they have on both sides."""
    is_changed = left.lines != right.lines
    words = left.words[is_changed].sum(dtype=np.int64) + right.words[is_changed].sum(dtype=np.int64)
    return int(np.count_nonzero(is_changed)), int(words)


def _main(page: LabelledPage, facts: list[LineFacts], decoration: set[int], n_content_words: int) -> int | None:
    """Hash of the lines that jusText keeps, where it drops some but little."""
    marked = enumerate(zip(page.main_text.split("\n"), facts, strict=True))
    main = [line for index, (text, line) in marked if text[:1] != "\t" and index not in decoration]
    if not main or len(main) == len(facts) or sum(line.n_words for line in main) < MAIN_SHARE * n_content_words:
        return None
    return digest_of_all([line.digest for line in main])


def _shared_lines(signatures: list[Signature]) -> frozenset[int]:
    """Lines on more than half of some pages."""
    lines, n_pages = np.unique(np.concatenate([np.unique(each.lines) for each in signatures]), return_counts=True)
    return frozenset(lines[n_pages > OWN_SHARE * len(signatures)].tolist())
