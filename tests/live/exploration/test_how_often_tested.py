"""How often a rule is tested, when it is verified, and which earlier tests count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.live.exploration.rule_evidence import RuleEvidence
from dedup_crawler.methods.model.evidence_file import RuleCounts
from rule_outcomes import evidence_of, explored, form, rate


def test_a_form_speaks_once_for_a_rule():
    """A hundred explorations of one form are one agreement; but they do count as explored."""
    evidence = RuleEvidence(0.02)
    for _ in range(100):
        evidence.record(("r",), form(1), is_same=True)
    assert evidence.counts() == {"r": RuleCounts(1, 0, False)}
    assert evidence.n_agreed == 100
    assert rate(evidence, "r") == 0.02


def test_the_young_are_explored_more():
    """Nearly all at first, then a tenth, 2 % when no more tests are worth it, more again after a wrong one."""
    evidence = RuleEvidence(0.02)
    evidence._n_dropped["r"] = 400
    rates = []
    for i in range(60):
        rates.append(rate(evidence, "r"))
        evidence.record(("r",), form(i), is_same=True)
    assert rates[:3] == [0.99] * 3
    assert rates[3] == pytest.approx(0.1 * 10 / 13)
    assert rates == sorted(rates, reverse=True)
    assert rates[25:27] == [pytest.approx(0.1 * 10 / 35), 0.02]
    evidence.record(("r",), form(99), is_same=False)
    assert rate(evidence, "r") == 0.25
    for i in range(100, 105):
        evidence.record(("r",), form(i), is_same=True)
    assert rate(evidence, "r") == 0.02


def test_a_shared_drop_is_explored_as_the_younger_rule_asks():
    """A drop without rules is explored at the setting's rate."""
    evidence = evidence_of(known={"old": RuleCounts(1000, 0)})
    explored(evidence, [True] * 3, "old")
    assert rate(evidence, "old") == 0.02
    assert rate(evidence, "old", "new") == 0.99
    assert rate(evidence) == 0.02


@given(st.sampled_from([0.0, 0.001, 0.02, 0.5, 1.0]), st.lists(st.booleans(), max_size=30))
def test_a_rate_is_a_share_and_never_below_the_setting(epsilon, outcomes):
    """Law: between the setting and 1; nothing is explored if the setting is 0."""
    evidence = RuleEvidence(epsilon)
    for i, is_right in enumerate(outcomes):
        evidence.record(("r",), form(i), is_same=is_right)
    share = rate(evidence, "r")
    assert (epsilon <= share <= 1) if epsilon else share == 0


def test_the_counts_of_earlier_crawls_count():
    """A known rule is new for three explorations, a failed one stays off, and the counts continue."""
    evidence = evidence_of(known={"old": RuleCounts(200, 3), "off": RuleCounts(5, 4, True)})
    assert rate(evidence, "old") == 0.99
    assert evidence.switched_off == {"off"}
    explored(evidence, [True] * 3, "old")
    assert rate(evidence, "old") == 0.02
    assert evidence.counts() == {"old": RuleCounts(203, 3, False), "off": RuleCounts(5, 4, True)}


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
    assert evidence.is_verified("r2")
    assert evidence.untested_rules() == {"r3"}
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
    assert evidence.is_verified("r")
    for _ in range(64):
        evidence.taken_back(("r",), is_sent=False)
    for _ in range(64):
        evidence.dropped(("r",))
    assert evidence.is_verified("r")
    for _ in range(192):
        evidence.dropped(("r",))
    assert not evidence.is_verified("r")


def test_when_a_rule_is_verified():
    """Three explorations in this crawl for any past, and as many more as its drops are worth."""
    evidence = evidence_of({}, {"r": RuleCounts(100, 0), "new": RuleCounts()})
    evidence.add_training({"r": (40, 0)}, "a.example")
    evidence.add_training({"new": (0, 0)}, "b.example")
    assert (evidence.n_missing("r"), evidence.n_missing("new")) == (3, 3)
    evidence._n_dropped["r"] = 400
    evidence._n_dropped["new"] = 400
    assert (evidence.n_missing("r"), evidence.n_missing("new")) == (26, 26)
    explored(evidence, [True] * 26, "r", 200)
    assert evidence.is_verified("r")
    explored(evidence, [True] * 20, "new")
    assert evidence.n_missing("new") == 6
    assert not evidence.is_verified("new")
    explored(evidence, [True] * 6, "new", 20)
    assert all(map(evidence.is_verified, ("new", "r")))


def test_what_a_crawl_has_learnt_itself_needs_fewer_tests():
    """Merge groups count as tests, but for the first three, and those that tests have made; a wrong test ends that."""
    evidence = RuleEvidence(0.02)
    evidence.add_training({"r": (40, 0)}, "a.example", is_of_this_crawl=True)
    evidence._n_dropped["r"] = 400
    assert (evidence.n_missing("r"), rate(evidence, "r")) == (3, 0.99)
    explored(evidence, [True] * 3)
    assert evidence.n_missing("r") == 0
    assert rate(evidence, "r") == 0.02

    evidence.add_training({"r": (3, 0)}, "a.example", is_of_this_crawl=True)
    assert evidence.n_missing("r") == 23
    assert rate(evidence, "r") > 0.05

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
    evidence._n_dropped["r"] = 64
    evidence._n_dropped["stranger"] = 64
    assert evidence.n_missing("r") == evidence.n_missing("stranger") == 12
    for place, other in enumerate(others):
        explored(evidence, [True] * 3, other, 10 * place)
    assert (evidence.n_missing("r"), evidence.n_missing("stranger")) == (5, 12)
    explored(evidence, [False], others[0], 100)
    assert 5 < evidence.n_missing("r") < 12


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
    assert rate(evidence, "r") < 1
    evidence.undecided(("r",))
    assert rate(evidence, "r") == 1
    assert evidence.is_held("r")
    explored(evidence, [True])
    assert rate(evidence, "r") < 1
    assert rate(RuleEvidence(0), "r") == 0


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
