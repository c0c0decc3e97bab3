"""What counts as late in a crawl."""

from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.rules.belief import RISKS, Belief
from dedup_crawler.rules.columns import UNKNOWN
from dedup_crawler.rules.host_crawl import HostCrawl, learn_rules
from dedup_crawler.rules.lateness import LATE, late_from

HOST = "forum.example"
any_pages = st.lists(st.integers(UNKNOWN, 30), max_size=60)


def repeats(pages: list[int]) -> int:
    known = [page for page in pages if page != UNKNOWN]
    return len(known) - len(set(known))


@given(any_pages)
def test_no_less_than_the_last_three_tenths_of_the_crawl_and_of_its_duplicates_are_late(pages: list[int]):
    """What is unknown is no duplicate."""
    first = late_from(pages)

    assert 0 <= first <= max(1, len(pages))
    assert len(pages) - first >= int((1 - LATE) * len(pages)) - 1
    assert repeats(pages) - repeats(pages[:first]) >= int((1 - LATE) * repeats(pages))


def test_a_rule_outlives_the_crawl_that_it_filters():
    """A crawl shows 40 topics twice; from then on the filter drops the second URL. Learnt again, the rule is found."""
    twice = [(f"http://{HOST}/t/{n}{end}", n) for n in range(40) for end in ("", "?s=1")]
    once = [(f"http://{HOST}/t/{n}", n) for n in range(40, 900)]
    urls, pages = zip(*twice, *once, strict=True)
    none = [None] * len(urls)

    [rule] = learn_rules(HostCrawl(HOST, urls, pages, none, none), Belief(RISKS["balanced"]), "crawl")

    assert rule.statistics.evidence.n_groups == 40
