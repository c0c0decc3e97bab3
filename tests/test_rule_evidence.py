"""Exploration of rules: how often a rule is tested, and when it is switched off."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.live.exploration import rule_evidence, rule_life
from dedup_crawler.live.exploration.rule_evidence import RuleEvidence
from dedup_crawler.methods.model.evidence_file import RuleCounts

N_CRAWLS = 300


def evidence_of(training=None, known=None):
    """Return the evidence of rules with these merge groups in training, and counts of earlier crawls."""
    evidence = RuleEvidence(0.02)
    evidence.add_training(training or {})
    evidence.add_known(known or {})
    return evidence


def form(i):
    return i.to_bytes(16, "big")


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


def explored(evidence, outcomes, rule="r", first=0):
    for i, is_right in enumerate(outcomes, first):
        evidence.record((rule,), form(i), is_same=is_right)


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
    assert after(outcomes).is_doubted("r") is is_doubted


def test_a_doubted_rule_drops_nothing_and_goes_at_the_next_wrong_one():
    """One wrong comparison may be an error, two are not: until then every link that the rule would drop is a test."""
    evidence = evidence_of({"r": (5, 0)})
    assert evidence.record(("r",), form(1), is_same=False) is None
    assert evidence.least_tested(["r"])[1] == 1
    assert not evidence.is_verified(["r"])
    assert [state.standing for state in evidence.states()] == ["doubted"]
    explored(evidence, [True] * 3, first=2)
    assert evidence.least_tested(["r"])[1] == 1
    assert evidence.record(("r",), form(9), is_same=False) == "r"
    assert evidence.switched_off == {"r"}


def test_a_rule_that_was_doubted_by_mistake_drops_again():
    """Thirty right tests outweigh a wrong one; the doubt survives a kill."""
    evidence = evidence_of({"r": (5, 0)})
    explored(evidence, [False] + [True] * 4)
    resumed = evidence_of({"r": (5, 0)}, evidence.counts())
    for each in (evidence, resumed):
        assert each.least_tested(["r"])[1] == 1
        explored(each, [True] * 30, first=10)
        assert each.least_tested(["r"])[1] < 1
        assert each.is_verified(["r"])
        assert each.switched_off == frozenset()


def test_a_right_rule_survives():
    """5,000 explorations without a wrong one never switch a rule off."""
    assert failed_at([0.0] * 5000, seed=0) is None


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
    assert after(worse).suspicion("r") >= after(outcomes).suspicion("r")


@given(st.lists(st.booleans(), max_size=60))
def test_one_more_agreement_never_makes_a_rule_doubted(outcomes):
    """Law: one more right trial never makes a rule doubted or switched off."""
    evidence = after(outcomes)
    is_doubted = evidence.is_doubted("r")
    assert evidence.record(("r",), form(10**6), is_same=True) is None
    assert is_doubted or not evidence.is_doubted("r")


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_the_promise_is_bounded_whatever_the_training_says(n_groups, n_wrong):
    """Law: the promised error is 2 to 10 %, so no training evidence makes a rule invulnerable."""
    evidence = evidence_of({"r": (n_groups, n_wrong)})
    assert rule_evidence.MIN_ERROR <= evidence.promised_error("r") <= rule_evidence.MAX_ERROR


def test_a_form_speaks_once_for_a_rule():
    """A hundred explorations of one form are one agreement; but they do count as explored."""
    evidence = RuleEvidence(0.02)
    for _ in range(100):
        evidence.record(("r",), form(1), is_same=True)
    assert evidence.counts() == {"r": RuleCounts(1, 0, False)}
    assert evidence.n_agreed == 100
    assert evidence.least_tested(["r"])[1] == 0.02


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
    assert evidence.suspicion("good") < 1


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


def test_the_young_are_explored_more():
    """Nearly all at first, then a tenth, 2 % when no more tests are worth it, more again after a wrong one."""
    evidence = RuleEvidence(0.02)
    evidence.drops.dropped(("r",), 400)
    rates = []
    for i in range(60):
        rates.append(evidence.least_tested(["r"])[1])
        evidence.record(("r",), form(i), is_same=True)
    assert rates[:3] == [0.99] * 3
    assert rates[3] == pytest.approx(0.1 * 10 / 13)
    assert rates == sorted(rates, reverse=True)
    assert rates[25:27] == [pytest.approx(0.1 * 10 / 35), 0.02]
    evidence.record(("r",), form(99), is_same=False)
    assert evidence.least_tested(["r"])[1] == 0.25
    for i in range(100, 105):
        evidence.record(("r",), form(i), is_same=True)
    assert evidence.least_tested(["r"])[1] == 0.02


def test_a_shared_drop_is_explored_as_the_younger_rule_asks():
    """A drop without rules is explored at the setting's rate."""
    evidence = evidence_of(known={"old": RuleCounts(1000, 0)})
    explored(evidence, [True] * 3, "old")
    assert evidence.least_tested(["old"])[1] == 0.02
    assert evidence.least_tested(["old", "new"])[1] == 0.99
    assert evidence.least_tested([])[1] == 0.02


@given(st.sampled_from([0.0, 0.001, 0.02, 0.5, 1.0]), st.lists(st.booleans(), max_size=30))
def test_a_rate_is_a_share_and_never_below_the_setting(epsilon, outcomes):
    """Law: between the setting and 1; nothing is explored if the setting is 0."""
    evidence = RuleEvidence(epsilon)
    for i, is_right in enumerate(outcomes):
        evidence.record(("r",), form(i), is_same=is_right)
    rate = evidence.least_tested(["r"])[1]
    assert (epsilon <= rate <= 1) if epsilon else rate == 0


def test_the_counts_of_earlier_crawls_count():
    """A known rule is new for three explorations, a failed one stays off, and the counts continue."""
    evidence = evidence_of(known={"old": RuleCounts(200, 3), "off": RuleCounts(5, 4, True)})
    assert evidence.least_tested(["old"])[1] == 0.99
    assert evidence.switched_off == {"off"}
    explored(evidence, [True] * 3, "old")
    assert evidence.least_tested(["old"])[1] == 0.02
    assert evidence.counts() == {"old": RuleCounts(203, 3, False), "off": RuleCounts(5, 4, True)}


def test_memory_is_bounded(monkeypatch):
    """The forms that have counted are forgotten one by one; the counts stay."""
    monkeypatch.setattr(rule_life, "MAX_FORMS", 10)
    evidence = RuleEvidence(0.02)
    for i in range(100):
        evidence.record(("r",), form(i), is_same=True)
    assert len(evidence._speakers._spoken) == 10
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
    assert (evidence.is_doubted("r2"), evidence.is_doubted("s2")) == (True, False)
    assert (evidence.counts()["r2"].n_disagreed, evidence.least_tested(("r2",))[1]) == (2, 1.0)
    assert "s2" not in evidence.counts()
    assert evidence.record(("r2",), form(900), is_same=False) == "r2"

    evidence.add_training({"r3": (60, 1), "t": (60, 0)}, "a.example", effects={"r3": "drop v", "t": "drop t"})
    assert (evidence.is_doubted("r3"), evidence.is_doubted("t")) == (True, False)


def test_a_crawl_that_learns_anew_keeps_its_right_tests():
    """They pass to one rule that does the same in another context, with the drops that they were for.

    The next rule is tested from the beginning, and so is each rule of a model that another crawl has learnt.
    """
    evidence = RuleEvidence(0.02)
    effects = {"r": "drop v", "r2": "drop v", "r3": "drop v", "r4": "drop v"}
    evidence.add_training({"r": (20, 0)}, "a.example", effects=effects, is_of_this_crawl=True)
    explored(evidence, [True] * 8)
    for _ in range(64):
        evidence.dropped(("r",))
    evidence.add_training({"r2": (30, 0), "r3": (29, 0)}, "a.example", effects=effects, is_of_this_crawl=True)
    assert (evidence.n_missing("r2"), evidence.n_missing("r3")) == (0, 3)
    for _ in range(64):
        evidence.dropped(("r2",))
        evidence.dropped(("r3",))
    assert evidence.is_verified(("r2",))
    assert evidence.drops.untested_rules() == {"r3"}
    assert [(each.rule, each.standing) for each in evidence.states()][:2] == [("r", "verified"), ("r2", "verified")]
    evidence.add_training({"r4": (40, 0)}, "a.example", effects=effects)
    assert evidence.n_missing("r4") == 3


def test_drops_that_a_new_model_counts_anew_call_for_no_new_tests():
    """A rule is tested anew when it drops twice as many, but not when the same drops are counted once more."""
    evidence = RuleEvidence(0.02)
    evidence.add_training({"r": (0, 0)}, "a.example")
    for n in range(64):
        evidence.dropped(("r",))
        explored(evidence, [True] * (n % 2), first=n)
    assert evidence.is_verified(("r",))
    for _ in range(64):
        evidence.drops.taken_back(("r",), is_sent=False)
    for _ in range(64):
        evidence.dropped(("r",))
    assert evidence.is_verified(("r",))
    for _ in range(192):
        evidence.dropped(("r",))
    assert not evidence.is_verified(("r",))


def test_when_a_rule_is_verified():
    """Three explorations in this crawl for any past, and as many more as its drops are worth."""
    evidence = evidence_of({}, {"r": RuleCounts(100, 0), "new": RuleCounts()})
    evidence.add_training({"r": (40, 0)}, "a.example")
    evidence.add_training({"new": (0, 0)}, "b.example")
    assert (evidence.n_missing("r"), evidence.n_missing("new")) == (3, 3)
    evidence.drops.dropped(("r",), 400)
    evidence.drops.dropped(("new",), 400)
    assert (evidence.n_missing("r"), evidence.n_missing("new")) == (26, 26)
    explored(evidence, [True] * 26, "r", 200)
    assert evidence.is_verified(("r",))
    explored(evidence, [True] * 20, "new")
    assert evidence.n_missing("new") == 6
    assert not evidence.is_verified(("new", "r"))
    explored(evidence, [True] * 6, "new", 20)
    assert evidence.is_verified(("new", "r"))


def test_what_a_crawl_has_learnt_itself_needs_fewer_tests():
    """Merge groups count as tests, but for the first three, and those that tests have made; a wrong test ends that."""
    evidence = RuleEvidence(0.02)
    evidence.add_training({"r": (40, 0)}, "a.example", is_of_this_crawl=True)
    evidence.drops.dropped(("r",), 400)
    assert (evidence.n_missing("r"), evidence.least_tested(("r",))[1]) == (3, 0.99)
    explored(evidence, [True] * 3)
    assert evidence.n_missing("r") == 0
    assert evidence.least_tested(("r",))[1] == 0.02

    evidence.add_training({"r": (3, 0)}, "a.example", is_of_this_crawl=True)
    assert evidence.n_missing("r") == 23
    assert evidence.least_tested(("r",))[1] > 0.05

    evidence.add_training({"r": (400, 0)}, "a.example", is_of_this_crawl=True)
    assert evidence.n_missing("r") == 0
    explored(evidence, [False], first=10)
    assert evidence.n_missing("r") > 20


def test_the_rules_of_a_site_speak_for_each_other():
    """If eight rules have held, the next one of the site needs fewer tests; one of another site needs as many."""
    evidence = RuleEvidence(0.02)
    others = [f"other {n}" for n in range(8)]
    evidence.add_training(dict.fromkeys([*others, "r"], (40, 0)), "a.example")
    evidence.add_training({"stranger": (40, 0)}, "b.example")
    evidence.drops.dropped(("r",), 64)
    evidence.drops.dropped(("stranger",), 64)
    assert evidence.n_missing("r") == evidence.n_missing("stranger") == 12
    for place, other in enumerate(others):
        explored(evidence, [True] * 3, other, 10 * place)
    assert (evidence.n_missing("r"), evidence.n_missing("stranger")) == (5, 12)
    explored(evidence, [False], others[0], 100)
    assert 5 < evidence.n_missing("r") < 12


def test_a_rule_that_holds_everywhere_is_blamed_for_what_it_did_alone():
    """Query order hardly ever matters: if a learnt rule took part, that one was wrong."""
    evidence = RuleEvidence(0.02)
    evidence.add_training({"order": (0, 0), "r": (9, 0)}, "a.example", ["order"])
    assert evidence.record(("order", "r"), form(1), is_same=True) is None
    assert [evidence.record(("order", "r"), form(i), is_same=False) for i in (2, 3)] == [None, "r"]
    assert evidence.counts()["order"] == RuleCounts(1, 0, False)
    assert [evidence.record(("order",), form(i), is_same=False) for i in (4, 5)] == [None, "order"]


def test_a_rule_that_goes_on_dropping_is_tested_again():
    """Tests of early drops are no evidence for later pages: those of the last half count."""
    evidence = evidence_of({"r": (400, 0)})
    explored(evidence, [True] * 15)
    for _ in range(64):
        evidence.dropped(("r",))
    assert evidence.n_missing("r") == 12
    explored(evidence, [True] * 12, first=20)
    assert evidence.n_missing("r") == 0
    for _ in range(64):
        evidence.dropped(("r",))
    assert 0 < evidence.n_missing("r") <= 15


def test_after_a_wrong_one_a_rule_is_tested_again():
    """An old rule that was wrong once needs five right tests before its drops are forgotten."""
    evidence = evidence_of({"r": (400, 0)})
    explored(evidence, [True] * 24 + [False])
    assert evidence.n_missing("r") == 5
    explored(evidence, [True] * 5, first=30)
    assert evidence.n_missing("r") == 0


def test_a_rule_that_is_never_decided_drops_nothing():
    """Twenty undecided explorations in a row hold it back; one decided releases it."""
    evidence = RuleEvidence(0.02)
    for _ in range(19):
        evidence.undecided(("r",))
    assert evidence.least_tested(("r",))[1] < 1
    evidence.undecided(("r",))
    assert evidence.least_tested(("r",))[1] == 1
    assert evidence.is_held("r")
    explored(evidence, [True])
    assert evidence.least_tested(("r",))[1] < 1
    assert RuleEvidence(0).least_tested(("r",))[1] == 0


def test_tests_of_other_crawlers_count_once():
    """
    An evidence file may include the others' tests: the larger count is used. Their tests are never passed on as this
    crawler's own, and rules of unknown models are left out.
    """
    evidence = RuleEvidence(0.02)
    evidence.add_training({"r": (40, 0), "s": (40, 0)})
    evidence.add_known({"r": RuleCounts(5, 0)})
    explored(evidence, [True, True])
    others = {"r": RuleCounts(8, 1), "other model's": RuleCounts(9, 9)}
    for _ in range(2):
        assert evidence.take_in(others) == []
        assert evidence.counts() == {"r": RuleCounts(10, 1)}
        assert evidence.own_counts() == {"r": RuleCounts(2, 0)}


def test_a_rule_that_others_have_found_wrong_is_doubted_or_goes():
    """Rules that they switched off are off at once; a wrong test of theirs is a wrong test here."""
    evidence = RuleEvidence(0.02)
    evidence.add_training({"r": (9, 0), "s": (9, 0), "t": (9, 0)})
    assert evidence.take_in({"r": RuleCounts(0, 1), "s": RuleCounts(3, 2, True), "t": RuleCounts(30, 0)}) == ["s"]
    assert evidence.is_doubted("r")
    assert evidence.switched_off == {"s"}
    evidence.dropped(("t",))
    assert evidence.is_verified(("t",))
