"""Hypotheses that ``verified`` refuses: kept with the reason, bounded, and never among the rules."""

import functools
import json

import pytest

from dedup_crawler.errors import BadInputError, DamagedModelError
from dedup_crawler.json_values import JsonValue
from dedup_crawler.methods import load_model, make_method
from dedup_crawler.methods.model.folder import ModelFiles, read_model
from dedup_crawler.methods.wrapped import StaticFront
from dedup_crawler.rules.exchange.static_rules import StaticLayer
from dedup_crawler.rules.language.sentences import MAX_REFUSALS, refusals_from_json, refusals_of, refusals_to_json
from dedup_crawler.rules.language.site_rules import HostAlias
from dedup_crawler.rules.language.statistics import MergeEvidence
from dedup_crawler.rules.learning.belief import RISKS, Belief, Evidence

HOST = "http://forum.example"


def visits(n_right, n_wrong):
    """Return topics with a session id; in the last ones it leads to another page."""
    urls, pages = [], []
    for t in range(n_right + n_wrong):
        urls += [f"{HOST}/topic?t={t}", f"{HOST}/topic?sid={t * 7919 % 10007:x}&t={t}"]
        pages += [2 * t, 2 * t + (t >= n_right)]
    return urls, pages


@functools.cache
def learnt(n_right, n_wrong):
    urls, pages = visits(n_right, n_wrong)
    return make_method("verified").fit(urls, pages)


def about_sid(model):
    return [each for each in model.refused() if each.sentence.startswith("drop `sid` anywhere")]


def test_what_is_believed_is_not_refused():
    """A session id that never matters becomes a rule, and is not among the refused."""
    model = learnt(100, 0)

    assert any("drop `sid`" in line for line in model.learnt())
    assert about_sid(model) == []


def test_contradictions_are_said_with_their_counts():
    """A key that leads to another page in a third of its groups is refused, with counts, expected error and limit."""
    (refusal,) = about_sid(learnt(60, 30))

    assert (refusal.n_groups, refusal.n_wrong) == (90, 30)
    assert "90 groups, 30 contradictions" in refusal.sentence
    assert refusal.reason.startswith("it would merge different pages: expected error ")
    assert "allowed 1.25 %" in refusal.reason


def test_too_little_evidence_is_said():
    """Eight pages without a contradiction are too few for the safe profile."""
    belief = Belief(RISKS["safe"])

    assert belief.why_not(Evidence.of(MergeEvidence(8, 0))).startswith("too few groups to be sure")


def test_what_is_mostly_wrong_is_no_news():
    """Obviously wrong hypotheses, such as dropping a topic's number, are not kept: only mostly right ones."""
    model = learnt(60, 30)

    assert all(2 * each.n_wrong < each.n_groups for each in model.refused())
    assert not any(each.sentence.startswith("drop `t` anywhere") for each in model.refused())


def test_what_the_budget_does_not_cover_is_said():
    """Of six neutral keys only one may be ignored on a small site: the others are refused for the budget alone."""
    urls = [f"{HOST}/p?id={n}" for n in range(200)]
    pages = list(range(200))
    for key in range(6):
        urls += [f"{HOST}/p?id={n}&k{key}=1" for n in range(200)]
        pages += range(200)
    model = make_method("verified").fit(urls, pages)

    assert len(model.learnt()) == 1
    reasons = [each.reason for each in model.refused() if each.n_wrong == 0]
    assert reasons.count("all rules together may lose 3 pages of a thousand; others save more") == 5


def test_a_loaded_model_says_the_same(tmp_path):
    """The list is a small table in the model folder; a folder without it was trained by an earlier version."""
    model = learnt(60, 30)
    folder = model.save(tmp_path / "model")

    assert load_model(folder).refused() == model.refused() != []
    assert StaticFront(model, StaticLayer([])).refused() == model.refused()
    description, files = read_model(folder)
    old = {name: table for name, table in files.tables.items() if name != "refused.json"}
    assert type(model).from_files(description, ModelFiles(old)).refused() == []


def alias(n, evidence):
    return HostAlias(f"www{n}.example", "example", evidence)


def test_the_best_supported_are_kept_and_no_more_than_the_bound():
    """Of a hundred the thirty with most groups for them are kept, in that order; of repeated ones the last counts."""
    belief = Belief(RISKS["balanced"])
    for n in range(100):
        belief.refuse(n, alias(n, MergeEvidence(n, 0)), "early")
        belief.refuse(n, alias(n, MergeEvidence(2 * n, n // 2)), "late")
    belief.note_believed(99)
    belief.refuse(99, alias(99, MergeEvidence(5000, 0)), "again")

    said = refusals_of(belief.refused.values())

    assert [each.n_groups for each in said] == [2 * n for n in range(98, 98 - MAX_REFUSALS, -1)]
    assert said[0].sentence.startswith("host www98.example shows the pages of example: 196 pages")
    assert {each.reason for each in said} == {"late"}


def test_what_reads_the_same_is_said_once():
    """Two different hypotheses may have one sentence."""
    same = [(alias(1, MergeEvidence(20, 1)), "why")] * 2

    assert len(refusals_of(same)) == 1


@pytest.mark.parametrize("value", [None, 7, [7], [{}], [{"rule": "r", "reason": "w", "groups": "x", "wrong": 0}]])
def test_a_damaged_list_is_one_clear_error(value, tmp_path):
    """The error names the file, also when a model is loaded."""
    with pytest.raises(BadInputError, match=r"refused\.json"):
        refusals_from_json(JsonValue(value, "refused.json"))
    model = learnt(20, 0)
    description, files = read_model(model.save(tmp_path / "model"))
    with pytest.raises(DamagedModelError, match=r"refused\.json"):
        type(model).from_files(description, ModelFiles({**files.tables, "refused.json": value}))


def test_a_hostile_list_is_bounded():
    """A hostile file may have a million sentences of a million letters."""
    read = refusals_from_json(
        JsonValue([{"rule": "r" * 10**6, "reason": "w", "groups": 1, "wrong": 0}] * 1000, "refused.json")
    )

    assert len(read) == MAX_REFUSALS
    assert max(len(each.sentence) for each in read) == 2000
    assert json.loads(json.dumps(refusals_to_json(read)))[0]["groups"] == 1


def test_the_translator_says_what_its_gate_refused():
    """Templates with too few later merge groups keep their own form; the list has them with their counts."""
    urls, pages = visits(14, 0)
    model = make_method("seq2seq", hidden=16, max_steps=100).fit(urls, pages)

    refused = model.refused()

    assert all("merge groups with later pages" in each.reason for each in refused)
    assert any("sid" in each.sentence for each in refused)
