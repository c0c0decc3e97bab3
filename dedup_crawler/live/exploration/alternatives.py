"""The other URLs of a form that were dropped, to be fetched in its owner's place when that turns out to be no page.

A seen set keeps one such URL, and only until the owner is answered. But the first one may fail as its owner did, and a
good answer may turn out to be a log-in page when many others have got the same.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_FORMS = 20_000
"""Forms whose URLs are kept; those that were dropped longest ago go first."""
MAX_OF_FORM = 4


class Alternatives(Generic[T]):
    """Form -> what was dropped as its duplicate, the first ones, oldest first."""

    def __init__(self) -> None:
        self._of: OrderedDict[bytes, list[T]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._of)

    def add(self, form: bytes, dropped: T) -> None:
        """Keep a drop, if its form has not enough of them."""
        kept = self._of.setdefault(form, [])
        self._of.move_to_end(form)
        if len(kept) < MAX_OF_FORM:
            kept.append(dropped)
        if len(self._of) > MAX_FORMS:
            self._of.popitem(last=False)

    def take(self, form: bytes) -> T | None:
        """Give the oldest one, and keep it no longer."""
        kept = self._of.get(form)
        if not kept:
            return None
        if len(kept) == 1:
            del self._of[form]
        return kept.pop(0)

    def forget(self, form: bytes, is_it: Callable[[T], bool]) -> None:
        """Keep no longer those for which *is_it* says so: they are on their way."""
        if form in self._of:
            kept = [each for each in self._of.pop(form) if not is_it(each)]
            if kept:
                self._of[form] = kept
