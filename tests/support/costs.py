"""Compares the cost of work with that of a reference loop on the same machine, because no limit in seconds fits all."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def at_most(n_millions: float) -> Iterator[None]:
    """Fail if the block takes more CPU time than *n_millions* million steps of a plain loop.

    A million steps take about 0.05 s. Quadratic or endless work takes hundreds of times the limit.
    """
    before = _million_steps()
    start = time.process_time()
    yield
    taken = time.process_time() - start
    unit = max(before, _million_steps())
    assert taken <= n_millions * unit, f"as much as {taken / unit:.0f} million steps"


def _million_steps() -> float:
    """Return the CPU seconds."""
    start = time.process_time()
    total = 0
    for number in range(1_000_000):
        total += number
    return time.process_time() - start
