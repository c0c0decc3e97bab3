"""The different starts of two addresses that end alike: ``/pub/mirrors/x`` and ``/mirror/x``."""

from __future__ import annotations


def different_starts(one: str, other: str) -> tuple[str, str]:
    """Return what stands before the longest common end that begins with a whole token; empty where nothing is common.

    Parameters
    ----------
    one, other
        What stands behind the host of two URLs.

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
