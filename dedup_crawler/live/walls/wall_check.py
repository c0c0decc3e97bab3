"""Check of a wall: some URLs are fetched once more, to tell a wall from a page that many URLs really show.

A search without results or a list without entries is one page for many URLs, and a crawl may reach them all at once.
A wall that stands also answers for URLs of the same kind that showed other pages before. So as many of these are
fetched again as of those that it answered for. There is no wall if all show what they showed before.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

N_CHECKED = 4
"""URLs of either sort. If a site shows a wall by chance, for half of all requests, one check in 256 misses it, and the
pages behind it are lost."""

_WORD = re.compile(r"\w+")


def kind_of(url: str) -> str:
    """Return the path of a URL, with words that have a digit masked (numbers, hashes), and its query keys."""
    path, query = urlsplit(url)[2:4]
    keys = sorted({part.partition("=")[0] for part in re.split("[&;]", query)})
    return f"{_WORD.sub(_masked, path)}?{'&'.join(keys)}"


def _masked(word: re.Match[str]) -> str:
    return "0" if any(map(str.isdigit, word.group())) else word.group()


class WallCheck:
    """The URLs that are fetched again, and their answers so far."""

    def __init__(self, wall: int, walled: Sequence[str], others: Sequence[str]) -> None:
        self.wall = wall
        """Signature of the page that answered for the *walled* URLs."""
        self.kinds = {*map(kind_of, walled)}
        self._awaited = {**dict.fromkeys(walled, True), **dict.fromkeys(others, False)}  # URL -> does it show the wall?
        self._is_wall = False

    @classmethod
    def of(cls, wall: int, walled: Sequence[str], others: Iterable[str]) -> WallCheck | None:
        """Choose URLs at even distances, and for each another of its kind; None if a kind has too few."""
        of_kind: defaultdict[str, deque[str]] = defaultdict(deque)
        for url in others:
            of_kind[kind_of(url)].append(url)
        chosen = [walled[place * len(walled) // N_CHECKED] for place in range(N_CHECKED)] if walled else []
        beside = [found.popleft() for url in chosen if (found := of_kind[kind_of(url)])]
        return cls(wall, chosen, beside) if chosen and len(beside) == len(chosen) else None

    @property
    def urls(self) -> list[str]:
        """The URLs whose answers are awaited, those without a wall first: a short wall may end meanwhile."""
        return sorted(self._awaited, key=self._awaited.__getitem__)

    @property
    def is_over(self) -> bool:
        """Return True if all answers have come."""
        return not self._awaited

    def answered(self, url: str, signature: int) -> bool:
        """Take in the page of a URL; return True if it was the last one, and there is no wall."""
        shows_wall = self._awaited.pop(url, None)
        if shows_wall is None:
            return False
        self._is_wall |= (signature == self.wall) != shows_wall
        return not self._awaited and not self._is_wall
