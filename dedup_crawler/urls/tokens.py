"""A URL as tokens, as the translator of SIGIR'17 reads it, and back without loss.

K. Xu, Z. Liu, J. Callan, "De-duping URLs with Sequence-to-Sequence Neural Networks", SIGIR 2017: the static delimiter
``/`` splits and is left out, dynamic delimiters (``? = & . ;``) split and are tokens themselves. Scheme and host are
the first token together. Two neighbours that are not delimiters have a ``/`` between them; where that alone would not
bring back the URL (``//``, ``/?``), an empty token stands in the gap. *Deep* tokens are also split at ``- _ , : +
~``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_DYNAMIC = re.compile(r"([/?=&.;])")
_DEEP = re.compile(r"([/?=&.;\-_,:+~])")
_ORIGIN = re.compile(r"[^/?]*://[^/?]*")
_DYNAMIC_DELIMITERS = frozenset("?=&.;")
_DEEP_DELIMITERS = _DYNAMIC_DELIMITERS | frozenset("-_,:+~")


def split(url: str, *, deep: bool = False) -> list[str]:
    """Pieces and delimiters in turn: even places hold pieces (maybe empty), odd places one delimiter each.

    The first piece is scheme and host. ``"".join(split(url)) == url`` for every string.

    >>> split("http://a.example/t/prev.aspx")
    ['http://a.example', '/', 't', '/', 'prev', '.', 'aspx']
    """
    delimiters = _DEEP if deep else _DYNAMIC
    origin = _ORIGIN.match(url)
    if origin is None:
        return delimiters.split(url)
    parts = delimiters.split(url[origin.end() :])
    parts[0] = origin[0] + parts[0]  # what follows the host starts with a delimiter, so that this piece is empty
    return parts


def tokenize(url: str, *, deep: bool = False) -> list[str]:
    """Tokens of *url*; :func:`detokenize` is the exact inverse.

    >>> tokenize("http://a.example/t/prev.aspx?id=7")
    ['http://a.example', 't', 'prev', '.', 'aspx', '?', 'id', '=', '7']
    """
    parts = split(url, deep=deep)
    tokens: list[str] = []
    last = len(parts) - 1
    for i in range(0, last + 1, 2):
        piece = parts[i]
        if piece or (i > 0 and parts[i - 1] == "/") or (i < last and parts[i + 1] == "/"):
            tokens.append(piece)
        if i < last and parts[i + 1] != "/":
            tokens.append(parts[i + 1])
    return tokens


def detokenize(tokens: Sequence[str], *, deep: bool = False) -> str:
    """Join tokens with ``/``, except around delimiters.

    >>> detokenize(["http://a.example", "t", "prev", ".", "aspx"])
    'http://a.example/t/prev.aspx'
    """
    delimiters = _DEEP_DELIMITERS if deep else _DYNAMIC_DELIMITERS
    written: list[str] = []
    after_piece = False
    for token in tokens:
        is_piece = token not in delimiters
        if is_piece and after_piece:
            written.append("/")
        written.append(token)
        after_piece = is_piece
    return "".join(written)


def different_starts(one: str, other: str) -> tuple[str, str]:
    """Cut the longest common end from two addresses without hosts, and return the two starts that are left.

    The common end begins with a whole token. Without a common end both starts are empty.

    >>> different_starts("/pub/mirrors/a/x.txt", "/mirror/a/x.txt")
    ('/pub/mirrors/', '/mirror/')
    """
    n = 0
    shorter = min(len(one), len(other))
    while n < shorter and one[-1 - n] == other[-1 - n]:
        n += 1
    while n and one[len(one) - n].isalnum() and (_ends_in_word(one, n) or _ends_in_word(other, n)):
        n -= 1
    if n and one[len(one) - n] == "/":
        n -= 1  # the slash belongs to the folder
    return (one[: len(one) - n], other[: len(other) - n]) if n > 1 else ("", "")


def _ends_in_word(rest: str, n: int) -> bool:
    return n < len(rest) and rest[len(rest) - n - 1].isalnum()
