"""What is kept of a page to compare it by: hashes of its text, of its lines, and what its URL asks for.

A signature has at most some 40 kB, usually one, whatever the size of the page.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import compress

import numpy as np
import numpy.typing as npt
import xxhash

from dedup_crawler.labels.arguments import Argument, arguments
from dedup_crawler.labels.comparing import MIN_WORDS, has_words
from dedup_crawler.labels.counting import BoundedCounter
from dedup_crawler.labels.layout import Pages, SiteLayout
from dedup_crawler.labels.lines import digest, facts, lines_of, numbers_of
from dedup_crawler.pages.records import LabelledPage

Lines = npt.NDArray[np.uint64]
Words = npt.NDArray[np.uint16]

MAX_LINES = 4_000
"""A page with more lines is compared for equality only."""
MAIN_SHARE = 0.8
"""jusText's main text stands for the page where it has at least this share of its words."""
OWN_SHARE = 0.5
"""A line on more than this share of the pages of one kind belongs to the kind, not to the page."""

_TOO_MANY = 65_535
_NO_LINES = np.empty(0, np.uint64)
_NO_WORDS = np.empty(0, np.uint16)


@dataclass(frozen=True, slots=True)
class Signature:
    """One page with text; hashes are 64 bits."""

    status: int
    title: int
    """0 where there is none: a text file, mostly."""
    text: int
    """Of all lines."""
    content: int
    """Of the lines that are not decoration."""
    main: int | None
    """Of those of the latter that jusText keeps, where they are most of the page."""
    n_text_words: int
    """Of all lines; of a text without a title only whether these are enough to compare by."""
    n_words: int
    """Of the content."""
    lines: Lines
    """Each line of the content; none for a page without a title or with too many lines."""
    words: Words
    """How many words each of these lines has; 65,535 for one with a number of the URL: an id, not a counter."""
    plain_title: int | None
    """Of the title with the page's name masked, where it holds it."""
    template: int
    """Of the URL without the values of its open arguments."""
    open_arguments: tuple[Argument, ...]
    """Those that do not name the page and do not choose its kind."""


class Signatures:
    """Signatures of the pages that have text, by position in the crawl, and what they have in common."""

    def __init__(self, pages: Pages) -> None:
        self.layout = SiteLayout.learn(pages)
        self.of: dict[int, Signature] = {}
        self._n_of_template: defaultdict[int, int] = defaultdict(int)
        self._contents_of_template: defaultdict[int, set[int]] = defaultdict(set)
        self._lines_of_template: BoundedCounter[tuple[int, int]] = BoundedCounter()
        for position, page in enumerate(pages()):
            if page.main_text:
                self._add(position, page)

    def _add(self, position: int, page: LabelledPage) -> None:
        signature = _signature(page, self.layout)
        self.of[position] = signature
        if signature.plain_title is not None:
            template = signature.template
            self._n_of_template[template] += 1
            if len(self._contents_of_template[template]) < 2:
                self._contents_of_template[template].add(signature.content)
            self._lines_of_template.update((template, line) for line in set(signature.lines.tolist()))

    def n_own_words(self, signature: Signature) -> int:
        """Words of the content that is not the same on most pages of its kind."""
        template = signature.template
        most = OWN_SHARE * self._n_of_template[template]
        own = dict(zip(signature.lines.tolist(), signature.words.tolist(), strict=True))
        return sum(n for line, n in own.items() if self._lines_of_template[template, line] <= most)

    def is_varied(self, template: int) -> bool:
        """Whether the pages of a kind have more than one content."""
        return len(self._contents_of_template[template]) > 1


def _signature(page: LabelledPage, layout: SiteLayout) -> Signature:
    if not page.title:
        return _plain_signature(page)
    is_content = layout.content(page)
    all_lines = lines_of(page)
    of_all = facts(all_lines)
    known = list(compress(of_all, is_content))
    words = [each.n_words for each in known]
    numbers_of_url = numbers_of(page.url)
    weights = [each.n_words if each.numbers.isdisjoint(numbers_of_url) else _TOO_MANY for each in known]
    digests = np.fromiter((each.digest for each in known), np.uint64, len(known))
    found, before = arguments(page.url)
    plain_title = layout.plain_title(page)
    is_compared = len(known) <= MAX_LINES
    return Signature(
        status=page.status,
        title=digest(page.title),
        text=digest("\n".join(all_lines)),
        content=xxhash.xxh3_64_intdigest(digests.tobytes()),
        main=_main(page, is_content, sum(words)),
        n_text_words=sum(each.n_words for each in of_all),
        n_words=sum(words),
        lines=digests if is_compared else _NO_LINES,
        words=np.minimum(weights, _TOO_MANY).astype(np.uint16) if is_compared and words else _NO_WORDS,
        plain_title=digest(plain_title) if plain_title is not None else None,
        template=digest("\n".join(layout.kinds.template(before, found, layout.naming_keys))),
        open_arguments=layout.open_arguments(found),
    )


def _plain_signature(page: LabelledPage) -> Signature:
    """Of a page without a title, mostly a text file: only the whole text counts."""
    text = digest(page.main_text)
    n = MIN_WORDS if has_words(page.main_text, MIN_WORDS) else 0  # nobody asks for more
    return Signature(page.status, 0, text, text, None, n, n, _NO_LINES, _NO_WORDS, None, 0, ())


def _main(page: LabelledPage, is_content: list[bool], n_content_words: int) -> int | None:
    lines = page.main_text.split("\n")
    main = [line for line, kept in zip(lines, is_content, strict=True) if kept and not line.startswith("\t")]
    n_words = sum(each.n_words for each in facts(main))
    if len(main) == len(lines) or not main or n_words < MAIN_SHARE * n_content_words:
        return None
    return digest("\n".join(main))


def changes(left: Signature, right: Signature) -> tuple[int, int]:
    """How many lines of two pages with as many lines are not the same, and how many words these have on both sides."""
    is_changed = left.lines != right.lines
    n_words = left.words[is_changed].sum(dtype=np.int64) + right.words[is_changed].sum(dtype=np.int64)
    return int(np.count_nonzero(is_changed)), int(n_words)
