"""Compact storage of digests: the table of the set in memory, and the filter of the set in a file."""

from __future__ import annotations

import asyncio
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.live.seen import memory
from dedup_crawler.live.seen.memory import MemorySeenSet
from dedup_crawler.live.seen.protocol import Claim, at_once, form_digest
from dedup_crawler.live.seen.table import MAX_VALUE, BloomFilter, DigestTable

EDGES = [bytes(16), bytes([255]) * 16, bytes(15) + b"1"]
digests = st.one_of(st.sampled_from(EDGES), st.binary(min_size=16, max_size=16))
steps = st.lists(st.tuples(st.booleans(), digests, st.integers(0, MAX_VALUE)), max_size=200)


@given(steps)
def test_the_table_is_a_dict(history):
    """For any order of insertions, replacements and removals the table behaves as a dict."""
    table, model = DigestTable(), {}
    for is_put, digest, value in history:
        if is_put:
            table.put(digest, value)
            model[digest] = value
        else:
            table.discard(digest)
            model.pop(digest, None)
        assert table.get(digest) == model.get(digest)
    assert len(table) == len(model)
    assert {digest: table.get(digest) for digest in model} == model


def test_the_table_grows_without_losing_anything():
    """Through several doublings every entry is found, and no other."""
    table = DigestTable()
    for n in range(5_000):
        table.put(form_digest(str(n)), n)
    assert [table.get(form_digest(str(n))) for n in range(5_000)] == list(range(5_000))
    assert all(table.get(form_digest(str(n))) is None for n in range(5_000, 5_500))


def test_bytes_of_neighbours_are_no_entry():
    """A digest that matches only across the border of two entries is not found."""
    for n in range(200):
        table, first = DigestTable(), form_digest(str(n))
        table.put(first, 0)
        for across in (first[5:] + bytes(5), first[1:] + bytes(1)):
            assert table.get(across) is None


@pytest.mark.parametrize("n_forms", [5_000, 8_300, 12_000])
def test_a_seen_form_costs_less_than_forty_bytes(n_forms):
    """A million pages fit in 40 MB, at any moment between two doublings: the form itself is not kept."""
    tracemalloc.start()
    try:
        seen = MemorySeenSet()
        for n in range(n_forms):
            digest = form_digest(str(n))
            at_once(seen.claim([Claim(digest, n & 0xFFFF)]))
            seen.answered(digest)
        n_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert n_bytes / n_forms < 40


def test_substitutes_are_bounded(monkeypatch):
    """The number of substitutes is bounded over all forms; a place is free once one was returned or claimed."""
    monkeypatch.setattr(memory, "MAX_SUBSTITUTES", 2)

    async def crawl():
        seen = MemorySeenSet()
        a, b = form_digest("/a"), form_digest("/b")
        at_once(seen.claim([Claim(a, 1), Claim(b, 1)]))
        assert await seen.wait(a, "/a?2", 2)
        assert await seen.wait(a, "/a?3", 3)
        assert await seen.wait(a, "/a?3", 3)
        assert not await seen.wait(b, "/b?2", 2)
        assert await seen.release(a) == "/a?2"
        assert await seen.wait(b, "/b?2", 2)
        assert not await seen.wait(b, "/b?3", 3)
        at_once(seen.claim([Claim(a, 3)]))
        assert await seen.wait(b, "/b?3", 3)
        seen.answered(b)
        assert await seen.wait(a, "/a?4", 4)
        assert await seen.wait(a, "/a?5", 5)
        assert not await seen.wait(a, "/a?6", 6)
        assert await seen.abandoned() == ["/a?4"]
        at_once(seen.claim([Claim(b, 9), Claim(a, 4)]))
        assert await seen.wait(a, "/a?7", 7)
        assert (await seen.clear()).waiting == ["/a?5", "/a?7"]
        at_once(seen.claim([Claim(a, 1)]))
        assert await seen.wait(a, "/a?2", 2)
        assert await seen.wait(a, "/a?3", 3)

    asyncio.run(crawl())


lists = st.lists(st.binary(min_size=16, max_size=16), max_size=50)


@given(lists, lists)
def test_nothing_that_was_added_is_missing(first, second):
    """For anything added in any number of steps: it may be there, in the order of the question."""
    known = BloomFilter()
    known.add(first)
    known.add(iter(second))
    assert known.among(first + second) == first + second


def test_few_others_look_as_if_they_were_there():
    """With 100,000 forms less than 1 % are false positives, and without forms none."""
    known = BloomFilter()
    others = [form_digest(f"/other{n}") for n in range(10_000)]
    assert known.among(others) == []
    known.add(form_digest(f"/{n}") for n in range(100_000))
    assert len(known.among(others)) < 100
