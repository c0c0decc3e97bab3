"""Evidence counted in merge groups."""

import pytest

from dedup_crawler.rules.judging.judge import MergeEvidence, judge


def test_counts_groups_not_pairs():
    """A group of four URLs is one piece of evidence; a group with two pages is wrong; one URL is no group."""
    forms = ["a", "a", "a", "a", "b", "b", "c"]
    clusters = [1, 1, 1, 1, 2, 3, 4]
    sources = ["drop", None, "drop", "drop", "drop", None, "drop"]

    evidence = judge(forms, clusters, sources).of("drop")

    assert (evidence.n_groups, evidence.n_wrong) == (2, 1)


def test_what_was_learnt_from_is_not_what_judges():
    """Only groups with a URL from the judged part count; their older members do show whether they are wrong."""
    forms = ["a", "a", "b", "b"]
    clusters = [1, 1, 2, 3]

    evidence = judge(forms, clusters, ["drop"] * 4, first_judged=3).of("drop")

    assert (evidence.n_groups, evidence.n_wrong) == (1, 1)
    assert judge(forms, clusters, ["drop"] * 4, first_judged=4).of("drop") == MergeEvidence()


@pytest.mark.parametrize(("n_groups", "bound"), [(18, 0.10), (38, 0.05), (95, 0.02)])
def test_bounds_the_error_as_the_table_says(n_groups, bound):
    """With no group wrong, 18, 38 and 95 groups bound the error by 10, 5 and 2 percent; one group fewer does not."""
    assert MergeEvidence(n_groups, 0).error_bound() <= bound
    assert MergeEvidence(n_groups - 2, 0).error_bound() > bound


def test_no_evidence_bounds_nothing():
    """Without merge groups the error may be anything."""
    assert MergeEvidence().error_bound() == 1.0
