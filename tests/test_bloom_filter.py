"""What is not looked up in the file of the seen set."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.live.seen.bloom_filter import BloomFilter
from dedup_crawler.live.seen.protocol import form_digest

digests = st.lists(st.binary(min_size=16, max_size=16), max_size=50)


@given(digests, digests)
def test_nothing_that_was_added_is_missing(first, second):
    """Whatever is added, in however many steps: it may be there, in the order of the question."""
    known = BloomFilter()
    known.add(first)
    known.add(iter(second))
    assert known.among(first + second) == first + second


def test_few_others_look_as_if_they_were_there():
    """Beside 100,000 forms less than 1 % of what was not added may be there, and beside none nothing."""
    known = BloomFilter()
    others = [form_digest(f"/other{n}") for n in range(10_000)]
    assert known.among(others) == []
    known.add(form_digest(f"/{n}") for n in range(100_000))
    assert len(known.among(others)) < 100
