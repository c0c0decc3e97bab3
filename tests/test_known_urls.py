"""Which crawled URLs a new one is compared with."""

from hypothesis import given

from dedup_crawler.methods.pairs.known_urls import MAX_CANDIDATES, KnownUrls
from dedup_crawler.urls.templates import Templater, count_tokens
from planted_site import HOST, session_ids
from url_strategies import urls

CRAWL = session_ids()


def known(crawled):
    return KnownUrls(crawled, crawled, Templater.learn(count_tokens(crawled), deep=True))


KNOWN = known(CRAWL.urls)


def test_those_that_share_a_rare_argument_come_first():
    """The other URLs of topic 107 are asked before any other topic."""
    found = [KNOWN.urls[number] for number in KNOWN.candidates(f"{HOST}/topic.php?t=107&sid=00c0ffee00c0ffee")]
    sharing = [url for url in CRAWL.urls if "=107" in url]

    assert set(found[: len(sharing)]) == set(sharing)
    assert len(sharing) < len(found) <= MAX_CANDIDATES


def test_then_the_nearest_of_the_same_template():
    """Without a shared argument the neighbours in the alphabet are asked, on both sides."""
    numbers = known([f"{HOST}/topic.php?t={number}" for number in range(1000, 2000)])
    found = {int(numbers.urls[place][-4:]) for place in numbers.candidates(f"{HOST}/topic.php?t=1500")}

    assert found == set(range(1475, 1526)) - {1500}


def test_an_argument_of_many_urls_is_not_followed():
    """A session id that 200 URLs carry brings no candidates of other templates."""
    crawled = [f"{HOST}/topic.php?t={i}&sid=00c0ffee00c0ffee" for i in range(200)]

    assert known(crawled).candidates(f"{HOST}/member/00c0ffee00c0ffee") == []


@given(urls)
def test_any_string_has_few_candidates_and_never_itself(url):
    """At most 50, each once."""
    found = KNOWN.candidates(url)

    assert len(found) == len(set(found)) <= MAX_CANDIDATES
    assert url not in {KNOWN.urls[number] for number in found}
