"""Counts of the URLs that a rule merges."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.rules.language.statistics import NO_STATISTICS, count_merges

members = st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 2)), max_size=8)


@given(members, members)
def test_groups_give_what_pairs_would(changed, others):
    """Support and false pairs of WWW'10, counted pair by pair over the groups that the rule changed."""
    touched = {form for form, _ in changed}
    pairs = [
        one[1] != two[1] for one, two in combinations([*changed, *others], 2) if one[0] == two[0] and one[0] in touched
    ]

    counted = count_merges([form for form, _ in changed], [page for _, page in changed], others)

    assert (counted.n_urls, counted.n_support_pairs, counted.n_false_pairs) == (len(changed), len(pairs), sum(pairs))


def test_a_cluster_of_300_000_urls_is_counted_in_one_go():
    """Tens of billions of pairs, and one merge group."""
    counted = count_merges(["x"] * 300_000, [1] * 300_000, [])

    assert counted.n_support_pairs == 300_000 * 299_999 // 2
    assert (counted.evidence.n_groups, counted.false_positive_rate) == (1, 0.0)


def test_without_support_nothing_speaks_for_a_rule():
    """A rule that merges nothing has no error rate."""
    assert NO_STATISTICS.false_positive_rate == 1.0
