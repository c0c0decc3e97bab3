"""Maps of keys to values, as which rules read the scheme, path and query of a URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from dedup_crawler.urls.keyvalue import KeyValues, read_rest, rest_of


class UrlMap(Protocol):
    """Reads the scheme, path and query of a URL as a map of keys to values, and writes the map back."""

    def read(self, rest: str, scheme: str) -> KeyValues:
        """Map of *rest* (path and query, in normal form) and *scheme*."""

    def write(self, values: Mapping[str, str | None]) -> str:
        """Path and query of a map."""

    def is_whole(self, key: str) -> bool:
        """Return True if the value of *key* is never cut into pieces."""


class KeyValueMap(UrlMap):
    """The map of :mod:`dedup_crawler.urls.keyvalue`."""

    def read(self, rest: str, scheme: str) -> KeyValues:
        """Map of *rest* and the scheme.

        >>> KeyValueMap().read("/topic?t=4", "http")
        {'scheme': 'http', 'path.length': '1', 'path[0]': 'topic', 'query[t]': '4'}
        """
        values: KeyValues = {"scheme": scheme}
        read_rest(rest, values)
        return values

    def write(self, values: Mapping[str, str | None]) -> str:
        """Path and query of a map, the query sorted by key."""
        return rest_of(values)

    def is_whole(self, key: str) -> bool:
        """Return True: this map cuts no value."""
        return True


KEY_VALUES: UrlMap = KeyValueMap()


def values_of(url: str) -> KeyValues:
    """Map of an absolute URL in normal form."""
    scheme, _, behind = url.partition("://")
    return KEY_VALUES.read(behind[behind.find("/") :], scheme)
