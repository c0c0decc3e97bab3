"""Lines of pages, and what is to know of one whatever page it is on: told once, for most lines are on many pages."""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import xxhash

from dedup_crawler.labels.comparing import n_words_of_lines
from dedup_crawler.labels.counting import BoundedCounter
from dedup_crawler.labels.times import masked_ago, masked_clock
from dedup_crawler.pages.records import LabelledPage

Digests = npt.NDArray[np.uint64]

MEMO_LINES = 200_000
"""Lines that are remembered, at most ..."""
MEMO_CHARACTERS = 20_000_000
"""... and characters of them, but for those of the last page; some 100 MB in all."""
COMMON_SHARE = 0.05
"""A line on this share of the pages says nothing about one of them."""
_NUMBER = re.compile(r"\d+")
_ASCII_DIGITS = str.maketrans({code: " " for code in range(128) if chr(code) not in "0123456789\n"})
"""Character -> itself if it is a digit, else a space: finds the numbers of ASCII text faster than a pattern."""


class LineFacts(NamedTuple):
    """What the lines of one page are by themselves, with an entry a line."""

    digests: Digests
    n_words: npt.NDArray[np.uint32]
    clocks: Digests
    """Of the line with times and durations masked; 0 if it has none."""
    numbers: list[str]
    """The runs of digits, each between spaces; empty if there are none."""


class LineTable:
    """Tells the facts of lines, and counts on how many pages each is; memory is bounded."""

    def __init__(self) -> None:
        self._rows = _Rows()
        self._n_pages = np.zeros(MEMO_LINES, np.int64)
        self._forgotten: BoundedCounter[int] = BoundedCounter()

    @property
    def n_remembered(self) -> int:
        """Lines whose facts are at hand."""
        return len(self._rows)

    def facts(self, lines: list[str]) -> LineFacts:
        """What the lines of a page are by themselves; the page is counted for each of them."""
        if len(lines) > MEMO_LINES // 10:  # it would push out what is on other pages
            return self._facts_of_long_page(lines)
        if len(self._rows) + len(lines) > MEMO_LINES or self._rows.n_characters > MEMO_CHARACTERS:
            self._forget()
        new = [line for line in dict.fromkeys(lines) if line not in self._rows]
        if new:
            self._rows.add(new)
        row_of_line = list(map(self._rows.__getitem__, lines))
        rows = np.array(row_of_line, np.int64)
        self._n_pages[rows] += 1  # once, however often a row is among them
        known = self._rows
        numbers = list(map(known.numbers.__getitem__, row_of_line))
        return LineFacts(known.digests[rows], known.n_words[rows], known.clocks[rows], numbers)

    def common_lines(self, n_pages: int) -> Digests:
        """Ascending digests of the lines that are on 5 % of a site's pages with lines, or may be."""
        self._forget()
        return np.array(sorted(self._forgotten.at_least(COMMON_SHARE * n_pages)), np.uint64)

    def _facts_of_long_page(self, lines: list[str]) -> LineFacts:
        digests, n_words, clocks, numbers = facts_of(lines)
        self._forgotten.update(set(digests))
        return LineFacts(
            np.array(digests, np.uint64), np.array(n_words, np.uint32), np.array(clocks, np.uint64), numbers
        )

    def _forget(self) -> None:
        n_rows = len(self._rows)
        n_pages, digests = self._n_pages[:n_rows], self._rows.digests[:n_rows]
        self._forgotten.update(dict(zip(digests.tolist(), n_pages.tolist(), strict=True)))
        n_pages[:] = 0
        self._rows.forget()


class _Rows(dict[str, int]):
    """Line -> its row in columns of facts."""

    def __init__(self) -> None:
        super().__init__()
        self.n_characters = 0
        self.digests = np.zeros(MEMO_LINES, np.uint64)
        self.n_words = np.zeros(MEMO_LINES, np.uint32)
        self.clocks = np.zeros(MEMO_LINES, np.uint64)
        self.numbers: list[str] = []

    def add(self, lines: list[str]) -> None:
        """Take in lines that are not there yet."""
        rows = slice(len(self), len(self) + len(lines))
        digests, n_words, clocks, numbers = facts_of(lines)
        self.digests[rows], self.n_words[rows], self.clocks[rows] = digests, n_words, clocks
        self.update(zip(lines, range(rows.start, rows.stop), strict=True))
        self.numbers += numbers
        self.n_characters += sum(map(len, lines)) + sum(map(len, numbers))

    def forget(self) -> None:
        """Start anew."""
        self.clear()
        self.numbers.clear()
        self.n_characters = 0


def facts_of(lines: list[str]) -> tuple[list[int], list[int], list[int], list[str]]:
    """Digests, words, clocks and numbers of lines; read all at once, for most lines are short."""
    numbers = _numbers_of_lines(lines)
    clocks = [_clock(line) if has_numbers else 0 for line, has_numbers in zip(lines, numbers, strict=True)]
    return list(map(digest, lines)), n_words_of_lines(lines), clocks, numbers


def _numbers_of_lines(lines: list[str]) -> list[str]:
    is_plain = list(map(str.isascii, lines))
    plain = "\n".join(itertools.compress(lines, is_plain)).translate(_ASCII_DIGITS)
    of_plain = map(str.split, plain.split("\n"))
    found = [
        next(of_plain) if is_ascii else _NUMBER.findall(line) for line, is_ascii in zip(lines, is_plain, strict=True)
    ]
    return [f" {' '.join(numbers)} " if numbers else "" for numbers in found]


def _clock(line: str) -> int:
    masked = masked_clock(line)
    return 0 if masked is line else digest(masked)


def lines_of(page: LabelledPage) -> list[str]:
    """Lines of a page's text without the mark of jusText's boilerplate, and without times told from now."""
    if not page.main_text:
        return []
    return masked_ago(page.main_text.replace("\t", "")).split("\n")


def digest(text: str) -> int:
    """64-bit hash of a text, the same in every run."""
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))


def numbers_of(text: str) -> frozenset[str]:
    """The runs of digits in a text."""
    return frozenset(_NUMBER.findall(text))


def digest_of_all(digests: Digests) -> int:
    """64-bit hash of lines by those of each."""
    return xxhash.xxh3_64_intdigest(digests.tobytes())
