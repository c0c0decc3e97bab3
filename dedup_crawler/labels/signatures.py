"""Signatures, by which pages are compared: hashes of the text and lines of a page, and arguments of its URL.

A signature takes at most 40 kB, usually 1 kB; texts are not kept. The pages of a crawl are read twice: to learn the
decoration of the site, and to make the signatures. If the site has naming keys, they are read once more in between.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator, Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dedup_crawler.labels.joins import cluster_without_text
from dedup_crawler.labels.layout import Argument, Pages, SiteLayout, address_free
from dedup_crawler.labels.lines import MEDIA, digest, digest_of_all, lines_of, n_words, numbers_of
from dedup_crawler.pages.records import LabelledPage

Lines = npt.NDArray[np.uint64]
Words = npt.NDArray[np.uint16]

MAX_LINES = 4_000
"""Largest number of lines of a page that is compared line by line; longer pages must be equal."""
TOO_MANY = 65_535
"""Number of words that a line gets if it has a number of the URL or is a picture: a change of it is never small."""
OWN_SHARE = 0.5
"""Largest share (0-1) of the pages of one kind with a line that still counts as a page's own."""

NO_LINES: Lines = np.empty(0, np.uint64)
NO_WORDS: Words = np.empty(0, np.uint16)


@dataclass(frozen=True, slots=True)
class Signature:
    """Signature of one page with text; hashes have 64 bits."""

    status: int
    title: int
    """Hash of the title; 0 without a title (mostly text files)."""
    text: int
    """Hash of the title and all lines."""
    content: int
    """Hash of the title and the lines that are not decoration."""
    n_text_words: int
    """Number of words in all lines."""
    n_words: int
    """Number of words in the content."""
    lines: Lines
    """Hash of each line of the content, (n,); empty for a page without a title or with too many lines."""
    words: Words
    """Number of words of each of these lines, (n,); TOO_MANY for a number of the URL, and for a picture."""
    plain_title: int | None
    """Hash of the title with the page's name masked; None if the title does not contain the name."""
    template: int
    """Hash of the kind of page of the URL; 0 without a plain title."""
    open_arguments: tuple[Argument, ...]
    """Arguments of the URL that neither name the page nor choose its kind."""
    address_free: int | None
    """Hash of title and lines without the page's own address; None if the page does not print it."""


class SitePages:
    """Signatures of the pages with text, and the lines that pages of one kind share."""

    def __init__(self, pages: Pages, meters: Set[int] | None = None) -> None:
        self.layout = SiteLayout(meters)

        def seen() -> Iterator[LabelledPage]:
            for page in pages():
                self.layout.see(page)
                yield page

        self.textless, self.positions = cluster_without_text(seen())
        self.layout.settle(pages)
        self.signatures = {
            position: signature_of(page, self.layout) for position, page in enumerate(pages()) if page.main_text
        }
        """Position in the crawl -> signature, in crawl order."""
        self._pages_of_kind: defaultdict[int, list[Signature]] = defaultdict(list)
        for signature in self.signatures.values():
            if signature.plain_title is not None:
                self._pages_of_kind[signature.template].append(signature)
        self._shared_lines = functools.cache(lambda kind: _shared_lines(self._pages_of_kind[kind]))

    def n_own_words(self, signature: Signature) -> int:
        """Number of words in lines that are not on most pages of the same kind."""
        shared = self._shared_lines(signature.template)
        own = dict(zip(signature.lines.tolist(), signature.words.tolist(), strict=True))
        return sum(n for line, n in own.items() if line not in shared)


def signature_of(page: LabelledPage, layout: SiteLayout) -> Signature:
    """Make the signature of a page with text; without a title (mostly text files) only the whole text is hashed."""
    lines = lines_of(page)
    if not page.title:
        text, n = digest(page.main_text), n_words(page.main_text)
        free = address_free(page, lines)
        return Signature(page.status, 0, text, text, n, n, NO_LINES, NO_WORDS, None, 0, (), free)
    digests, sizes, numbers = zip(*map(_read, lines), strict=True)
    decoration = layout.decoration(page.url, lines)
    content = [place for place in range(len(lines)) if place not in decoration]
    n_content_words = sum(sizes[place] for place in content)
    plain_title = layout.names(page.url).plain_title(page.title)
    template, open_arguments = layout.kind_of(page.url) if plain_title is not None else (0, ())
    compared = content if len(content) <= MAX_LINES else []
    ids = numbers_of(page.url)

    def weight(place: int) -> int:
        is_never_small = lines[place].startswith(MEDIA) or not ids.isdisjoint(numbers[place])
        return TOO_MANY if is_never_small else min(sizes[place], TOO_MANY)

    return Signature(
        status=page.status,
        title=digest(page.title),
        text=digest_of_all(digests),
        content=digest_of_all([digests[place] for place in content]),
        n_text_words=sum(sizes),
        n_words=n_content_words,
        lines=np.array([digests[place] for place in compared], np.uint64),
        words=np.array([weight(place) for place in compared], np.uint16),
        plain_title=None if plain_title is None else digest(plain_title),
        template=template,
        open_arguments=open_arguments,
        address_free=address_free(page, [lines[place] for place in content]),
    )


@functools.lru_cache(2**14)  # many pages share a line
def _read(line: str) -> tuple[int, int, frozenset[str]]:
    """Hash, number of words, and numbers of a line."""
    return digest(line), n_words(line), numbers_of(line)


def _shared_lines(signatures: list[Signature]) -> frozenset[int]:
    """Lines on more than half of these pages."""
    lines, n_pages = np.unique(np.concatenate([np.unique(each.lines) for each in signatures]), return_counts=True)
    return frozenset(lines[n_pages > OWN_SHARE * len(signatures)].tolist())
