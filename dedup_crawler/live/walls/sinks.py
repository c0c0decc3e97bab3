"""Pages that many different URLs end in: a log-in page, an error page that calls itself a good answer.

A form whose owner ends in one was not answered: its page has not been seen.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

MIN_SOURCES = 5
"""Different forms that redirect to one page and make it a sink."""
_MAX_TARGETS = 10_000


class Sinks:
    """Counts what redirects where."""

    def __init__(self) -> None:
        self._sources: OrderedDict[bytes, set[bytes]] = OrderedDict()  # the least recently used go first
        self._sinks: set[bytes] = set()

    def note(self, target: bytes, sources: Iterable[bytes]) -> set[bytes]:
        """Note that *sources* were redirected to *target*; gives the forms that it swallowed, none if it is no sink."""
        its_sources = set(sources) - {target}
        if not its_sources:
            return set()
        if target in self._sinks:
            return its_sources
        known = self._sources.setdefault(target, set())
        self._sources.move_to_end(target)
        known |= its_sources
        if len(known) >= MIN_SOURCES:
            del self._sources[target]
            if len(self._sinks) < _MAX_TARGETS:
                self._sinks.add(target)
            return known
        if len(self._sources) > _MAX_TARGETS:
            self._sources.popitem(last=False)
        return set()
