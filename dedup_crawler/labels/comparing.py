"""How much two pages may differ and still say the same.

Pages of one site share most of their words, so a cosine of 0.99 or three bits of simhash are also reached by a list of
products and the next facet of it (B-cubed precision on four recorded sites: .949-1.000 and .814-.989). What tells a
counter from another entry are the lines that differ: few, as many on either side, with few words.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Hashable, Sequence

MIN_WORDS = 10
"""A text with fewer words says too little to join pages by: "You need to enable JavaScript to run this app"."""
MIN_NEAR_WORDS = 100
"""A text with fewer words is compared for equality only: in a short list one changed entry is one more percent."""
MAX_CHANGED_LINES = 2
"""Nearly equal pages differ in at most so many lines ..."""
MAX_CHANGED_SHARE = 0.02
"""... and these have at most this share of the words of a page, counted on both sides."""

_WORD = re.compile(r"\w+")
_ASCII_WORDS = str.maketrans({code: chr(code).lower() if _WORD.match(chr(code)) else " " for code in range(128)})
"""Character -> the same in lower case, or a space: finds the words of ASCII text several times as fast as a pattern."""
_ASCII_LINES = {**_ASCII_WORDS, ord("\n"): "\n"}


def n_words(text: str) -> int:
    """Count the words of a text (runs of letters, digits and underscores)."""
    return len(text.translate(_ASCII_WORDS).split() if text.isascii() else _WORD.findall(text))


def n_words_of_lines(lines: list[str]) -> list[int]:
    """Count the words of each line; those in ASCII, most of them, all at once."""
    is_plain = list(map(str.isascii, lines))
    plain = "\n".join(itertools.compress(lines, is_plain)).translate(_ASCII_LINES)
    of_plain = map(len, map(str.split, plain.split("\n")))
    return [next(of_plain) if is_ascii else n_words(line) for line, is_ascii in zip(lines, is_plain, strict=True)]


def has_words(text: str, n: int) -> bool:
    """Whether a text has at least *n* words; reads no further than that."""
    return sum(1 for _ in itertools.islice(_WORD.finditer(text), n)) == n


def word_counts(text: str) -> Counter[str]:
    """Words of a text, lower-cased, with their counts."""
    if text.isascii():
        return Counter(text.translate(_ASCII_WORDS).split())
    lines = text.split("\n")  # no word goes over the end of a line, and most lines are ASCII
    plain = "\n".join(line for line in lines if line.isascii())
    other = "\n".join(line for line in lines if not line.isascii())
    return Counter(itertools.chain(plain.translate(_ASCII_WORDS).split(), _WORD.findall(other.lower())))


def is_reordered(left: Sequence[Hashable], right: Sequence[Hashable]) -> bool:
    """Whether two different sequences of the same lines are one list in two orders.

    Not if a single line stands elsewhere: that is how a tree says which of its branches is open, and a menu where
    the reader is. Sorting moves more than one line, for an entry of a table has several.
    """
    moved = [index for index, (one, other) in enumerate(zip(left, right, strict=True)) if one != other]
    first, end = moved[0], moved[-1] + 1
    one, other = left[first:end], right[first:end]
    return one[1:] != other[:-1] and one[:-1] != other[1:]
