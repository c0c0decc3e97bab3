"""Runs coroutines that never wait, in places that cannot await them."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never suspends, as those of a local seen set.

    Raises
    ------
    RuntimeError
        If it does suspend.
    """
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise RuntimeError(f"{coroutine!r} waits for something: a local seen set must not")
