"""URLs as symbols, and how two of them agree."""

from hypothesis import given

from dedup_crawler.urls.agreement import N_AGREEMENTS, UrlReader
from planted_site import HOST, session_ids
from url_strategies import urls

READER = UrlReader.learn(session_ids().urls)


def test_ids_are_read_as_places():
    """Frequent tokens stand for themselves, numbers for their place, session ids for their kind."""
    low, high = (READER.symbols(f"{HOST}/topic.php?t={number}&sid=00c0ffee00c0ffee") for number in (100, 159))

    assert low[:8] == high[:8] == [HOST, "/", "topic", ".", "php", "?", "t", "="]
    assert low[8:11] == ["<0:0>", "<1:0>", "<2:0>"]
    assert high[8] == "<0:7>"
    assert low[-1] == "<hex>"


@given(urls, urls)
def test_agreement_is_symmetrical_and_bounded(left, right):
    """For any two strings: as many numbers as promised, from 0 to 1, the same when exchanged; and symbols for each."""
    agreement = READER.agreement(left, right)

    assert agreement == READER.agreement(right, left)
    assert len(agreement) == N_AGREEMENTS
    assert all(0 <= number <= 1 for number in agreement)
    assert READER.symbols(left)
