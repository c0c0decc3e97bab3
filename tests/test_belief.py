"""When a rule is believed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.rules.belief import LEVEL, RISKS, Belief
from dedup_crawler.rules.judge import Evidence, MergeEvidence


def evidence(n_groups, n_wrong=0, n_late=20, n_late_wrong=0):
    return Evidence(n_groups, n_wrong, n_late, n_late_wrong)


def belief(risk="balanced", n_tried=0):
    made = Belief(RISKS[risk])
    for number in range(n_tried):
        made.count(f"hypothesis {number}", b"")
    return made


@pytest.mark.parametrize(("risk", "least"), [("eager", 9), ("balanced", 19), ("safe", 39)])
def test_how_many_groups_a_first_rule_needs(risk, least):
    """None of them wrong: about one group more than the table of the judge says for the profile's bound."""
    assert not belief(risk).holds(evidence(least - 2))
    assert belief(risk).holds(evidence(least))


def test_the_more_was_tried_the_more_evidence_is_needed():
    """Among thousands of hypotheses some look right by chance."""
    confidences = [belief(n_tried=n).confidence for n in (0, 1, 10, 1000)]

    assert confidences[0] == confidences[1] == 1 - LEVEL
    assert confidences == sorted(confidences)
    assert confidences[3] == pytest.approx(1 - LEVEL / 1000)
    assert belief(n_tried=1).holds(evidence(30))
    assert not belief(n_tried=1000).holds(evidence(30))


def test_what_was_believed_makes_more_believable():
    """Where many hypotheses hold, one more is less of a surprise; never more than without any correction."""
    judge = belief(n_tried=1000)
    judge.n_believed = 99
    assert judge.confidence == pytest.approx(1 - LEVEL / 10)
    judge.n_believed = 5000
    assert judge.confidence == pytest.approx(1 - LEVEL)


def test_asking_the_same_again_is_one_try():
    """Two contexts that hold the same URLs are one hypothesis; two hypotheses about the same URLs are two."""
    judge = belief()
    for name, urls in (("drop a", b"1"), ("drop a", b"1"), ("drop a", b"2"), ("drop b", b"1")):
        judge.count(name, urls)

    assert judge.n_tried == 3


def test_a_rule_has_to_be_confirmed_late():
    """By two late groups at least, and without more contradictions among them than the profile allows."""
    assert not belief().holds(evidence(1000, n_late=1))
    assert belief().holds(evidence(1000, n_late=2))
    assert not belief().holds(evidence(1000, n_wrong=3, n_late=20, n_late_wrong=3))
    assert belief().holds(evidence(1000, n_wrong=2, n_late=20, n_late_wrong=2))


@given(st.sampled_from(sorted(RISKS)), st.integers(0, 400), st.integers(0, 50), st.integers(1, 5000))
def test_what_is_believed_is_within_the_bound(risk, n_groups, n_wrong, n_tried):
    """Whatever the counts: the upper bound, with the corrected confidence or without, is that of the profile at most.

    What a careful profile believes a less careful one believes too.
    """
    n_wrong = min(n_wrong, n_groups)
    judge = belief(risk)
    judge._tried = {(str(n), b"") for n in range(n_tried)}

    if judge.may_hold(n_groups, n_wrong):
        assert MergeEvidence(n_groups, n_wrong).error_bound() <= RISKS[risk].max_wrong
        eager = belief("eager")
        eager._tried = judge._tried
        assert eager.may_hold(n_groups, n_wrong)
