"""Many texts as one regular expression: what a scan would look for one by one is found in one call.

The expression is a trie, written out: alternatives begin with different characters, so that a search looks at a place
once, however many texts there are, and has no choice to come back to. Texts are found as whole tokens only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

_MAX_DEPTH = 20  # branches within branches; Python's compiler calls itself for each
_WORD = "[A-Za-z0-9%]"
_is_word = re.compile(_WORD).match


def whole_tokens(texts: Iterable[str]) -> re.Pattern[str]:
    """What finds the longest of these texts at the first place where one of them stands.

    Parameters
    ----------
    texts
        None of them empty. One that begins or ends with a letter, digit or ``%`` is found only where no other such
        character stands beside it.

    >>> whole_tokens(["/a", "/a/b", "id"]).findall("/ab/a/b/a/id?id=7")
    ['/a/b', '/a', 'id', 'id']
    """
    branches = []
    for first, some in groupby(sorted(set(texts)), key=lambda text: text[0]):
        # the character goes first: the search then skips every place where no text begins with what is there
        border = f"(?<!{_WORD}{first})" if _is_word(first) else ""
        branches.append(f"{re.escape(first)}{border}{_branch(list(some), 1, 1)}")
    return re.compile("|".join(branches) or "(?!)")


def is_border(text: str, place: int) -> bool:
    """Whether a token may end before this place of a text and another one begin there."""
    return not (0 < place < len(text) and _is_word(text[place - 1]) and _is_word(text[place]))


def _branch(texts: Sequence[str], begin: int, depth: int) -> str:
    """What finds the ends of sorted texts, which are alike before *begin*; the longest first."""
    # sorted: what the first and the last one have in common, all have
    common = _n_common(texts[0], texts[-1])
    own = re.escape(texts[0][begin:common])
    ends = len(texts[0]) == common
    left = texts[ends:]
    if not left:
        return own + _end(texts[0])
    if depth < _MAX_DEPTH:
        groups = groupby(left, key=lambda text: text[common])
        branches = [_branch(list(some), common, depth + 1) for _, some in groups]
    else:
        branches = [re.escape(text[common:]) + _end(text) for text in reversed(left)]
    if ends:
        branches.append(_end(texts[0]))
    return f"{own}(?:{'|'.join(branches)})"


def _n_common(one: str, other: str) -> int:
    """Characters at the start of two texts that are the same."""
    differing = (place for place, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
    return next(differing, min(len(one), len(other)))


def _end(text: str) -> str:
    return f"(?!{_WORD})" if _is_word(text[-1]) else ""
