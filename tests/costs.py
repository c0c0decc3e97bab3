"""Compare the cost of work with that of other work on the same machine: no test knows a limit in seconds."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def at_most(n_millions: float) -> Iterator[None]:
    """Fail if the block takes more CPU time than *n_millions* of millions of steps of a plain loop take here and now.

    A million takes some 0.05 s. What grows with the square, or has no end, takes hundreds of times the limit.
    """
    before = _million_steps()
    start = time.process_time()
    yield
    taken = time.process_time() - start
    unit = max(before, _million_steps())
    assert taken <= n_millions * unit, f"as much as {taken / unit:.0f} million steps"


def _million_steps() -> float:
    """CPU seconds."""
    start = time.process_time()
    total = 0
    for number in range(1_000_000):
        total += number
    return time.process_time() - start
