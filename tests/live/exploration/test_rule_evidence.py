"""Wrong tests of a rule: when it is doubted, when it is switched off, and which of several rules is blamed."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.live.exploration import rule_life
from dedup_crawler.live.exploration.rule_evidence import RuleEvidence
from dedup_crawler.methods.model.evidence_file import RuleCounts
from rule_outcomes import evidence_of, explored, form, rate

N_CRAWLS = 300


def after(outcomes):
    """Return the evidence of rule r after trials on different forms, without a switch-off meanwhile."""
    counts = RuleCounts(sum(outcomes[:-50]), len(outcomes[:-50]) - sum(outcomes[:-50]))
    evidence = evidence_of(known={"r": counts})
    for i, is_right in enumerate(outcomes[-50:]):
        evidence.record(("r",), form(i), is_same=is_right)
        evidence._lives["r"].is_switched_off = False
    return evidence


def failed_at(shares, seed, training=None):
    """Return the trial (from 1) at which a rule with these error rates is switched off, or None."""
    draw = random.Random(seed).random
    evidence = evidence_of(training)
    for i, share in enumerate(shares):
        if evidence.record(("r",), form(i), is_same=draw() >= share):
            return i + 1
    return None


@pytest.mark.parametrize(
    ("outcomes", "is_doubted"),
    [
        ([], False),
        ([False], True),
        ([True] * 20 + [False], True),
        ([False, False], True),
        ([True] * 39 + [False], False),
        ([True] * 20 + [False] + [True] * 19, False),
        ([True] * 5000 + [False] * 3, False),
        ([True] * 5000 + [False] * 4, True),
        ([True] * 5000, False),
    ],
)
def test_what_is_doubted(outcomes, is_doubted):
    """One wrong test is enough for a new rule, four in a row for any past; one of forty may be chance."""
    assert after(outcomes)._life_of("r").is_doubted is is_doubted


def test_a_doubted_rule_drops_nothing_and_goes_at_the_next_wrong_one():
    """One wrong comparison may be an error, two are not: until then every link that the rule would drop is a test."""
    evidence = evidence_of({"r": (5, 0)})
    assert evidence.record(("r",), form(1), is_same=False) is None
    assert rate(evidence, "r") == 1
    assert not evidence.is_verified("r")
    assert [state.standing for state in evidence.states()] == ["doubted"]
    explored(evidence, [True] * 3, first=2)
    assert rate(evidence, "r") == 1
    assert evidence.record(("r",), form(9), is_same=False) == "r"
    assert evidence.switched_off == {"r"}


def test_a_rule_that_was_doubted_by_mistake_drops_again():
    """Thirty right tests outweigh a wrong one; the doubt survives a kill."""
    evidence = evidence_of({"r": (5, 0)})
    explored(evidence, [False] + [True] * 4)
    resumed = evidence_of({"r": (5, 0)}, evidence.counts())
    for each in (evidence, resumed):
        assert rate(each, "r") == 1
        explored(each, [True] * 30, first=10)
        assert rate(each, "r") < 1
        assert each.is_verified("r")
        assert each.switched_off == frozenset()


def test_a_rule_that_is_hardly_ever_wrong_survives_mostly():
    """Of rules with 0.25 % wrong explorations of 1,000, one in a hundred is switched off after forty right groups."""
    n_gone = sum(failed_at([0.0025] * 1000, seed, {"r": (40, 0)}) is not None for seed in range(N_CRAWLS))
    assert n_gone < 10


def test_a_rule_that_is_wrong_now_and_then_goes():
    """With 4 % wrong, unnoticed in forty groups, 90 of 100 crawls switch it off within 300 explorations."""
    n_gone = sum(failed_at([0.04] * 300, seed, {"r": (40, 0)}) is not None for seed in range(N_CRAWLS))
    assert n_gone > 0.9 * N_CRAWLS


def test_a_rule_that_breaks_goes_within_a_handful():
    """Wrong from the start: off after two tests, with no drop after the first; after 2,000 right ones: after four."""
    assert failed_at([1.0] * 10, seed=0) == 2
    assert failed_at([0.0] * 2000 + [1.0] * 10, seed=0) == 2004


@pytest.mark.parametrize("n_right", [0, 50, 2000])
def test_a_rule_wrong_half_of_the_time_goes_within_fifty(n_right):
    """For any past, in more than 95 of 100 crawls."""
    ends = [failed_at([0.0] * n_right + [0.5] * 50, seed) for seed in range(100)]
    assert sum(end is not None for end in ends) > 99


@given(st.lists(st.booleans(), max_size=120), st.data())
def test_more_disagreement_never_makes_a_rule_less_suspicious(outcomes, data):
    """Law: replacing a right trial by a wrong one never lowers the suspicion."""
    if not outcomes:
        return
    i = data.draw(st.integers(0, len(outcomes) - 1))
    worse = [*outcomes[:i], False, *outcomes[i + 1 :]]
    assert after(worse)._life_of("r").suspicion() >= after(outcomes)._life_of("r").suspicion()


@given(st.lists(st.booleans(), max_size=60))
def test_one_more_agreement_never_makes_a_rule_doubted(outcomes):
    """Law: one more right trial never makes a rule doubted or switched off."""
    evidence = after(outcomes)
    is_doubted = evidence._life_of("r").is_doubted
    assert evidence.record(("r",), form(10**6), is_same=True) is None
    assert is_doubted or not evidence._life_of("r").is_doubted


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_the_promise_is_bounded_whatever_the_training_says(n_groups, n_wrong):
    """Law: the promised error is 2 to 10 %, so no training evidence makes a rule invulnerable."""
    evidence = evidence_of({"r": (n_groups, n_wrong)})
    assert rule_life.MIN_ERROR <= evidence._life_of("r").promised_error <= rule_life.MAX_ERROR


def test_a_rule_that_gives_all_pages_one_form_is_found_out():
    """It has only one form, which counts against it more than once."""
    evidence = RuleEvidence(0.02)
    assert [evidence.record(("r",), form(1), is_same=False) for _ in range(2)] == [None, "r"]
    old = evidence_of(known={"r": RuleCounts(5000, 0)})
    assert [old.record(("r",), form(1), is_same=False) for _ in range(4)] == [None, None, None, "r"]


def test_one_form_cannot_speak_for_ever():
    """A page that changes with each fetch counts against an old rule four times, not forty."""
    evidence = evidence_of(known={"r": RuleCounts(1000, 0)})
    for i in range(40):
        evidence.record(("r",), form(0), is_same=False)
        evidence.record(("r",), form(i + 1), is_same=True)
    assert evidence.counts()["r"].n_disagreed <= 4


def test_of_two_rules_that_share_a_drop_the_more_suspicious_goes():
    """The other rule is excused: shared wrong trials are blamed on the one that was switched off."""
    evidence = RuleEvidence(0.02)
    for i in range(30):
        evidence.record(("good",), form(i), is_same=True)
    gone = [evidence.record(("good", "bad"), form(i), is_same=False) for i in (100, 101)]
    assert gone == [None, "bad"]
    assert evidence.switched_off == {"bad"}
    assert evidence.counts()["good"] == RuleCounts(30, 0, False)
    assert evidence._life_of("good").suspicion() < 1


def test_tests_under_way_blame_the_rule_that_was_switched_off_meanwhile():
    """Several tests of two rules are fetched at the same time. After the culprit is found, the rest say nothing new."""
    evidence = RuleEvidence(0.02)
    explored(evidence, [True] * 15, "good")
    for _ in range(5):
        evidence.begun(("good", "bad"))
    gone = [evidence.record(("good", "bad"), form(i), is_same=False) for i in range(100, 105)]
    assert gone == [None, "bad", None, None, None]
    assert evidence.switched_off == {"bad"}
    assert evidence.counts()["good"] == RuleCounts(15, 0, False)
    assert evidence.record(("good", "bad"), form(105), is_same=True) is None
    assert evidence.counts()["good"] == RuleCounts(16, 0, False)


def test_two_bad_rules_that_share_their_drops_both_go():
    """Both are switched off one after the other: the second on its own evidence."""
    evidence = RuleEvidence(0.02)
    explored(evidence, [True] * 50, "b")
    gone = [evidence.record(("a", "b"), form(i), is_same=False) for i in (100, 101)]
    gone += [evidence.record(("b",), form(i), is_same=False) for i in range(102, 105)]
    assert gone == [None, "a", None, None, "b"]


def test_a_rule_is_switched_off_once():
    """Late evidence about a switched-off rule changes nothing."""
    evidence = RuleEvidence(0.02)
    gone = [evidence.record(("r",), form(i), is_same=False) for i in range(6)]
    assert gone == [None, "r", None, None, None, None]


def test_memory_is_bounded(monkeypatch):
    """The forms that have counted are forgotten one by one; the counts stay."""
    monkeypatch.setattr(rule_life, "MAX_FORMS", 10)
    evidence = RuleEvidence(0.02)
    for i in range(100):
        evidence.record(("r",), form(i), is_same=True)
    assert len(evidence.speakers._spoken) == 10
    assert evidence.counts()["r"].n_agreed == 100


def test_a_rule_that_the_next_model_knows_in_another_context_keeps_its_wrong_tests():
    """It is doubted from the start, and switched off by the next wrong test; a rule that does something else is not.

    Right tests alone are not kept if another crawl has learnt the rule: the site may have changed since then.
    """
    evidence = evidence_of()
    evidence.add_training({"r": (60, 1), "s": (60, 0)}, "a.example", effects={"r": "drop v", "s": "drop s"})
    explored(evidence, [True] * 6 + [False] * 2, "r")
    explored(evidence, [True] * 8, "s")

    evidence.add_training({"r2": (60, 1), "s2": (60, 0)}, "a.example", effects={"r2": "drop v", "s2": "drop s"})
    assert (evidence._life_of("r2").is_doubted, evidence._life_of("s2").is_doubted) == (True, False)
    assert (evidence.counts()["r2"].n_disagreed, rate(evidence, "r2")) == (2, 1.0)
    assert "s2" not in evidence.counts()
    assert evidence.record(("r2",), form(900), is_same=False) == "r2"

    evidence.add_training({"r3": (60, 1), "t": (60, 0)}, "a.example", effects={"r3": "drop v", "t": "drop t"})
    assert (evidence._life_of("r3").is_doubted, evidence._life_of("t").is_doubted) == (True, False)


def test_a_rule_that_holds_everywhere_is_blamed_for_what_it_did_alone():
    """Query order hardly ever matters: if a learnt rule took part, that one was wrong."""
    evidence = RuleEvidence(0.02)
    evidence.add_training({"order": (0, 0), "r": (9, 0)}, "a.example", ["order"])
    assert evidence.record(("order", "r"), form(1), is_same=True) is None
    assert [evidence.record(("order", "r"), form(i), is_same=False) for i in (2, 3)] == [None, "r"]
    assert evidence.counts()["order"] == RuleCounts(1, 0, False)
    assert [evidence.record(("order",), form(i), is_same=False) for i in (4, 5)] == [None, "order"]


def test_a_rule_that_others_have_found_wrong_is_doubted_or_goes():
    """Rules that they switched off are off at once; a wrong test of theirs is a wrong test here."""
    evidence = RuleEvidence(0.02)
    evidence.add_training({"r": (9, 0), "s": (9, 0), "t": (9, 0)})
    assert evidence.take_in({"r": RuleCounts(0, 1), "s": RuleCounts(3, 2, True), "t": RuleCounts(30, 0)}) == ["s"]
    assert evidence._life_of("r").is_doubted
    assert evidence.switched_off == {"s"}
    evidence.dropped(("t",))
    assert evidence.is_verified("t")
