"""Pages out of access logs: which URLs there are and how they were answered, without a word of what they show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import xxhash

from dedup_crawler.pages.access_log import read_accesses
from dedup_crawler.pages.entry_reader import EntryReader
from dedup_crawler.pages.records import Page
from dedup_crawler.urls.normal import normal_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dedup_crawler.pages.access_log import Access
    from dedup_crawler.pages.compression import Gap

_MAX_GIVEN = 1_000_000  # URLs that are remembered; those of larger logs come again, and are known to the store
_NOT_MODIFIED = 304  # the page is the one that was sent before


class AccessReader(EntryReader):
    """Reads the accesses of one log as pages; what is no GET is skipped, and what was answered like that before.

    *origin* is scheme and host of the URLs that the log writes without them.
    """

    def __init__(
        self, chunks: Iterable[bytes | Gap], on_damage: Callable[[int, str], None], start: int = 0, origin: str = ""
    ) -> None:
        super().__init__(chunks, on_damage, start)
        self._origin = origin

    def __iter__(self) -> Iterator[Page]:
        given: set[int] = set()
        for access in read_accesses(self._chunks, self._on_damage):
            self.n_records += 1
            if not is_page(access):
                continue
            url = f"{self._origin}{access.url}" if access.url[:1] == "/" else access.url
            told = xxhash.xxh3_64_intdigest(f"{access.status < 400} {url}".encode(errors="replace"))
            if self.n_records > self._start and told not in given:
                yield Page(url, status=access.status, referrer=access.referrer or None)
            if len(given) < _MAX_GIVEN:
                given.add(told)


def is_page(access: Access) -> bool:
    """Whether it asks for a page."""
    return (
        access.method == "GET"
        and 100 <= access.status <= 599
        and access.status != _NOT_MODIFIED
        and (access.url[:1] == "/" or access.url.lower().startswith(("http://", "https://")))
    )


def origin_of(host: str) -> str:
    """Scheme and host of what a user calls the host of a log.

    >>> origin_of("Forum.example"), origin_of("https://forum.example:8443/")
    ('http://forum.example', 'https://forum.example:8443')
    """
    return normal_form(host if "://" in host else f"http://{host}").rstrip("/")
