"""Sinks: pages to which many different URLs redirect, such as a log-in form or an error page with status 200.

A form whose owner redirects to a sink is not seen.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

MIN_SOURCES = 5
"""Least number of different forms that redirect to a sink."""
_MAX_TARGETS = 10_000


class Sinks:
    """Counts the redirects to each page."""

    def __init__(self) -> None:
        self._sources: OrderedDict[bytes, set[bytes]] = OrderedDict()  # least recently used first
        self._sinks: set[bytes] = set()

    def note(self, target: bytes, sources: Iterable[bytes]) -> set[bytes]:
        """Note that *sources* redirect to *target*; if it is a sink, return the forms that it swallowed."""
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
