"""The worker pool: order, bounded memory, and items that kill a worker (real processes)."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from dedup_crawler.labels.workers import WorkerPool


def double(chunk: list[int]) -> list[int]:
    return [2 * item for item in chunk]


def die_of_seven(chunk: list[int]) -> list[int]:
    if 7 in chunk:
        os._exit(9)
    return double(chunk)


def refuse(chunk: list[int]) -> list[int]:
    raise ValueError(f"no {chunk}")


def lost(item: int) -> int:
    return -item


def test_results_come_in_order_and_items_are_taken_as_needed() -> None:
    """Fifty chunks come back in order, and never many more are taken than results were asked for."""
    taken = 0

    def chunks() -> Iterator[list[int]]:
        nonlocal taken
        for start in range(0, 100, 2):
            taken += 1
            yield [start, start + 1]

    with WorkerPool(double, lost, 2) as pool:
        results = pool.map(chunks())
        assert next(results) == 0
        assert taken <= 8
        assert [0, *results] == [2 * item for item in range(100)]


def test_an_item_that_kills_its_worker_is_lost_alone() -> None:
    """The process dies of one item; all others, before, beside and after it, have their results, in order."""
    with WorkerPool(die_of_seven, lost, 1) as pool:
        results = list(pool.map([item, item + 1] for item in range(0, 30, 2)))

    assert results == [-7 if item == 7 else 2 * item for item in range(30)]


def test_an_exception_of_the_function_is_passed_on() -> None:
    """What the function raises on purpose is not taken for a death; the pool ends."""
    with pytest.raises(ValueError, match=r"no \[1\]"), WorkerPool(refuse, lost, 1) as pool:
        list(pool.map([[1]]))
