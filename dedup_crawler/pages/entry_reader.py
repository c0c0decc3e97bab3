"""What the readers of files with many entries share: where they begin, how far they are, who is told of damage."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dedup_crawler.pages.compression import Gap
    from dedup_crawler.pages.records import Page


class EntryReader(ABC):
    """Reads the entries (lines, rows, items) of one file as pages; an entry makes one page or none.

    Parameters
    ----------
    chunks
        Uncompressed bytes in order, with a :class:`Gap` where some are missing.
    on_damage
        Called with the offset and the reason for each entry that holds no page.
    start
        Entries that were imported before: their pages are not made again.
    """

    def __init__(self, chunks: Iterable[bytes | Gap], on_damage: Callable[[int, str], None], start: int = 0) -> None:
        self._chunks = chunks
        self._on_damage = on_damage
        self._start = start
        self.n_records = 0
        """Entries read so far, those before *start* included."""

    @property
    def position(self) -> int:
        """Entries whose pages have all been given out."""
        return self.n_records

    @abstractmethod
    def __iter__(self) -> Iterator[Page]:
        """Read on."""
