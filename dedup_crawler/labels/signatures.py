"""What is kept of a page to compare it by: hashes of its text, of its lines, and what its URL asks for.

A signature has at most some 40 kB, usually one, whatever the size of the page.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dedup_crawler.labels.addresses import address_free
from dedup_crawler.labels.arguments import Argument
from dedup_crawler.labels.comparing import MIN_WORDS, has_words
from dedup_crawler.labels.lines import digest
from dedup_crawler.pages.records import LabelledPage

Lines = npt.NDArray[np.uint64]
Words = npt.NDArray[np.uint16]

MAX_LINES = 4_000
"""A page with more lines is compared for equality only."""
MAIN_SHARE = 0.8
"""jusText's main text stands for the page where it has at least this share of its words."""
TOO_MANY = 65_535
"""Stands for the words of a line with a number of the URL: an id, not a counter."""

NO_LINES: Lines = np.empty(0, np.uint64)
NO_WORDS: Words = np.empty(0, np.uint16)


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
    """Of the URL without the values of its open arguments; 0 where there is no plain title."""
    open_arguments: tuple[Argument, ...]
    """Those that do not name the page and do not choose its kind."""
    address_free: int | None
    """Of title and lines without the page's own address; None where it is not printed."""


def plain_signature(page: LabelledPage) -> Signature:
    """Of a page without a title, mostly a text file: only the whole text counts."""
    text = digest(page.main_text)
    n = MIN_WORDS if has_words(page.main_text, MIN_WORDS) else 0  # nobody asks for more
    return Signature(page.status, 0, text, text, None, n, n, NO_LINES, NO_WORDS, None, 0, (), address_free(page))


def changes(left: Signature, right: Signature) -> tuple[int, int]:
    """How many lines of two pages with as many lines are not the same, and how many words these have on both sides."""
    is_changed = left.lines != right.lines
    n_words = left.words[is_changed].sum(dtype=np.int64) + right.words[is_changed].sum(dtype=np.int64)
    return int(np.count_nonzero(is_changed)), int(n_words)
