"""URLs as symbols, and the agreement of two URLs."""

from hypothesis import given

from dedup_crawler.urls.agreement import UrlReader
from planted_site import HOST, session_ids
from url_strategies import urls

READER = UrlReader.learn(session_ids().urls)


def test_ids_are_read_as_places():
    """Frequent tokens stay, numbers become their place, session ids become their kind."""
    low, high = (READER.symbols(f"{HOST}/topic.php?t={number}&sid=00c0ffee00c0ffee") for number in (100, 159))

    assert low[:8] == high[:8] == [HOST, "/", "topic", ".", "php", "?", "t", "="]
    assert low[8:11] == ["<0:0>", "<1:0>", "<2:0>"]
    assert high[8] == "<0:7>"
    assert low[-1] == "<hex>"


@given(urls, urls)
def test_agreement_is_symmetrical_and_bounded(left, right):
    """For any two strings: the promised number of values from 0 to 1, the same when exchanged; and symbols."""
    agreement = READER.agreement(left, right)

    assert agreement == READER.agreement(right, left)
    assert len(agreement) == READER.n_agreements
    assert all(0 <= number <= 1 for number in agreement)
    assert READER.symbols(left)


def test_tells_which_tokens_only_one_url_has():
    """Two URLs that differ in a frequent token differ in more than one number from two that do not."""
    plain, other = (
        READER.agreement(f"{HOST}/topic.php?t=7", f"{HOST}/topic.php?t=8"),
        READER.agreement(f"{HOST}/topic.php?t=7", f"{HOST}/topic.php?t=8&sid=00c0ffee00c0ffee"),
    )

    assert READER.n_agreements > 2 * len(READER.tokens)
    assert sum(a != b for a, b in zip(plain, other, strict=True)) >= 2


def test_the_order_of_two_numbers_is_told_between_kinds_of_urls():
    """A link to the next page and the page are in order, whichever comes first; two URLs of one kind are not."""
    page, link, later = f"{HOST}/topic.php?t=7", f"{HOST}/topic.php?t=5&sid=00c0ffee00c0ffee", f"{HOST}/topic.php?t=9"
    reader = UrlReader(READER.tokens, [])  # without places, 5 and 9 are equally far from 7
    before, after = reader.agreement(page, link), reader.agreement(page, link.replace("t=5", "t=9"))

    assert before != after
    assert before == reader.agreement(link, page)
    assert reader.agreement(page, later) == reader.agreement(page, f"{HOST}/topic.php?t=5")


def test_ids_beyond_the_known_ones_keep_their_distance():
    """Two new ids at the distance of two known ones are no nearer to one another, above and below all known ids."""
    reader = UrlReader([HOST, "/", "t"], range(1_000, 1_100))
    found = [reader.agreement(f"{HOST}/t/{n}", f"{HOST}/t/{n + 43}") for n in (1_010, 5_000, 100)]

    assert found[0] == found[1] == found[2] != reader.agreement(f"{HOST}/t/5000", f"{HOST}/t/5001")
