"""When two texts say the same: the decisions that a score alone cannot make.

Pages of one site share most of their words, so a cosine of 0.99 or three bits of simhash are also reached by a list of
products and the next facet of it. Measured on four recorded sites with a truth, as B-cubed precision of the clusters:
joining every pair of a referrer group with cosine >= 0.99 and the same title .949-1.000; every pair with simhashes
within 3 bits and the same title .814-.989; the same candidates under :func:`is_nearly_equal` .999-1.000.
"""

from __future__ import annotations

import re
from collections import Counter

MIN_WORDS = 10
"""A text with fewer words says too little to join pages by: "You need to enable JavaScript to run this app"."""
MIN_NEAR_WORDS = 200
"""A text with fewer words is compared for equality only: in a short list one changed entry is one more percent."""
MAX_NEAR_LINES = 4
"""Nearly equal texts differ in at most this many lines, counted on both sides (a changed line counts twice) ..."""
MAX_NEAR_SHARE = 0.01
"""... and in at most this share of their words, counted likewise."""

_WORD = re.compile(r"\w+")


def n_words(text: str) -> int:
    """Count the words of a text (runs of letters, digits and underscores)."""
    return len(_WORD.findall(text))


def word_counts(text: str) -> Counter[str]:
    """Words of a text, lower-cased, with their counts."""
    return Counter(_WORD.findall(text.lower()))


def is_nearly_equal(left: str, right: str) -> bool:
    """Whether two texts of at least 200 words differ so little that it is the same page with, say, another counter."""
    left_lines, right_lines = Counter(left.split("\n")), Counter(right.split("\n"))
    if _n_different(left_lines, right_lines) > MAX_NEAR_LINES:
        return False
    left_words, right_words = word_counts(left), word_counts(right)
    sizes = left_words.total(), right_words.total()
    n_allowed = MAX_NEAR_SHARE * sum(sizes) / 2
    return min(sizes) >= MIN_NEAR_WORDS and _n_different(left_words, right_words) <= n_allowed


def is_reordered(left: str, right: str) -> bool:
    """Whether two different texts with the same lines are one list in two orders.

    Not if a single line stands elsewhere: that is how a tree says which of its branches is open, and a menu where
    the reader is. Sorting moves more than one line, for an entry of a table has several.
    """
    left_lines, right_lines = left.split("\n"), right.split("\n")
    pairs = list(zip(left_lines, right_lines, strict=True))
    moved = [index for index, (one, other) in enumerate(pairs) if one != other]
    first, end = moved[0], moved[-1] + 1
    one, other = left_lines[first:end], right_lines[first:end]
    return one[1:] != other[:-1] and one[:-1] != other[1:]


def _n_different(left: Counter[str], right: Counter[str]) -> int:
    return (left - right).total() + (right - left).total()
