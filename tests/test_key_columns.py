"""URL maps by key: numbers for values, equal to a look-up in each map."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.rules.miners.mapped_crawl import MISSING
from dedup_crawler.rules.miners.pattern_tree import ANY_DIGITS, ANY_HEX, key_columns

values = st.sampled_from(["", "7", "12345678", "cafe", "cafe0123beef", "CAFE0123BEEF", "word", "a-b", None])
maps = st.lists(st.dictionaries(st.sampled_from(["query[a]", "query[b]", "path[0]", "ext"]), values), max_size=40)


@given(maps, st.data())
def test_a_column_says_what_the_maps_say(crawl, data):
    """For any maps and places: the numbers represent the values, and 0 a missing key."""
    columns = key_columns(crawl)

    assert columns.keys() == {key for values in crawl for key in values}
    for key, column in columns.items():
        places = data.draw(st.lists(st.integers(0, len(crawl) - 1), max_size=20))
        numbers = column.of(np.array(places, np.int32))
        assert [column.values[number] for number in numbers] == [crawl[place].get(key, MISSING) for place in places]
        assert column.n_having == sum(key in values for values in crawl)


@given(maps)
def test_each_value_has_one_number(crawl):
    """Counting numbers equals counting values, as a naive count."""
    for key, column in key_columns(crawl).items():
        counts = np.bincount(column.of(np.arange(len(crawl), dtype=np.int32)), minlength=len(column.values))

        assert len(set(column.values)) == len(column.values)
        naive = [sum(values.get(key, MISSING) == value for values in crawl) for value in column.values]
        assert counts.tolist() == naive


@pytest.mark.parametrize("n_urls", [5, 16, 17, 400])
def test_rare_keys_read_the_same(n_urls):
    """Rare keys have another storage: the results are the same."""
    crawl = [
        {"path[0]": str(n % 3)} | ({"query[rare]": f"v{n}"} if n in (2, n_urls - 1) else {}) for n in range(n_urls)
    ]

    for key, column in key_columns(crawl).items():
        read = column.of(np.arange(n_urls, dtype=np.int32))
        assert [column.values[number] for number in read] == [values.get(key, MISSING) for values in crawl]
        assert column.of(np.empty(0, np.int32)).tolist() == []


@given(maps)
def test_classes_are_those_of_the_texts(crawl):
    """Numbers are numbers, hexadecimal strings have at least 8 characters, and a missing value has no class."""
    for column in key_columns(crawl).values():
        for value, is_digits, is_hex, pool in zip(
            column.values, column.is_digits, column.is_hex, column.pools, strict=True
        ):
            text = value if value not in (None, MISSING) else ""
            assert is_digits == bool(re.fullmatch("[0-9]+", text))
            long_hex = bool(is_hex) and len(text) >= 8
            assert pool == (ANY_DIGITS if is_digits else ANY_HEX if long_hex else 0)
            assert not is_hex or re.fullmatch("[0-9A-Fa-f]+", text)


def test_no_maps_have_no_columns():
    """No maps, and maps without keys."""
    assert key_columns([]) == {}
    assert key_columns([{}, {}]) == {}
