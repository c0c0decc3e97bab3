"""Candidates: rules that were learnt from few values of a key, and that a crawl tests with each new value."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from dedup_crawler.live.exploration.rule_evidence import RuleEvidence
from dedup_crawler.live.exploration.rule_life import FEW_VALUES, MAX_WAITING
from dedup_crawler.methods import load_model, make_method
from dedup_crawler.methods.base import Canonicalizer
from dedup_crawler.report.making import make_report
from dedup_crawler.rules.language.identifiers import is_value, removed_values, rule_of
from dedup_crawler.rules.language.operations import Drop, Set
from dedup_crawler.rules.language.rule import Rule
from faulty_site import show, text
from killing import stop_after
from live_site import Crawl, Site, walk
from rule_outcomes import rate

N_LEARNT = 60
KNOWN = ("list", "table", "tree")
NEW = tuple(f"look{number}" for number in range(24))
N_ITEMS = 15


def fitted(host: str = "shop.example") -> Canonicalizer:
    """Return a model of a crawl in which three values of ``view`` made no difference."""
    visits = [(f"http://{host}/item?n={n}", n) for n in range(1000, 1000 + N_LEARNT)]
    visits += [(f"{url}&view={KNOWN[n % 3]}", n) for url, n in visits]
    return make_method("verified").fit([url for url, _ in visits], [n for _, n in visits])


def test_a_rule_that_was_learnt_from_few_values_is_believed_for_these_and_a_candidate_for_the_others(tmp_path: Path):
    """Also after saving and loading; the model alone never applies the candidate."""
    model = load_model(fitted().save(tmp_path / "model"))
    whole = model.with_candidates()
    known, new = "http://shop.example/item?n=7&view=list", "http://shop.example/item?n=7&view=map"

    assert model.canonicalize(known) == whole.canonicalize(known) == "http://shop.example/item?n=7"
    assert model.canonicalize(new) == new
    assert whole.canonicalize(new) == "http://shop.example/item?n=7"
    assert model.digest != whole.digest
    candidate, value = whole.fired(new)
    assert is_value(value)
    assert rule_of(value) == candidate
    assert candidate in whole.rule_sentences()
    assert candidate not in model.rule_sentences()
    assert whole.fired("http://shop.example/item?n=8&view=map") == (candidate, value)
    assert whole.fired("http://shop.example/item?n=7&view=plan") != (candidate, value)


def test_a_value_that_made_a_difference_leaves_no_candidate():
    """One contradicted value of four: the next one may make a difference, too."""
    visits = [(f"http://shop.example/item?n={n}", n) for n in range(N_LEARNT)]
    visits += [(f"{url}&view={KNOWN[n % 3]}", n) for url, n in visits]
    visits += [(f"http://shop.example/item?n={n}&view=edit", N_LEARNT + n) for n in range(8)]
    model = make_method("verified").fit([url for url, _ in visits], [n for _, n in visits])

    assert model.canonicalize("http://shop.example/item?n=7&view=list") == "http://shop.example/item?n=7"
    assert model.with_candidates() is model


def test_a_candidate_that_changes_several_keys_is_tested_by_their_values_together():
    """No value may go unnamed: it would be dropped without a test of its own."""
    rule = Rule("shop.example", {}, {"query[view]": Drop(), "slash": Drop(), "query[lang]": Set("en")})
    urls = [f"http://shop.example/item/?lang={lang}&view={view}" for lang in ("de", "fr") for view in ("map", "plan")]
    names = [list(removed_values({"c?": rule}, ["c?"], url)) for url in urls]
    assert [len(each) for each in names] == [1, 1, 1, 1]
    assert len({each[0] for each in names}) == 4


def form(number: int) -> bytes:
    return number.to_bytes(16, "big")


def record(evidence: RuleEvidence, value: int, number: int, *, is_same: bool) -> str | None:
    """Record a test of a value of candidate c."""
    rules = ("c", f"c={value:02x}")
    evidence.begun(rules)
    return evidence.record(rules, form(number), is_same=is_same)


def evidence_of() -> RuleEvidence:
    evidence = RuleEvidence(0.02)
    evidence.add_training({"c": (20, 0)})
    return evidence


def test_each_new_value_is_tested_until_enough_were_right():
    """A value under test is not tested twice; after ten right values the next one needs no test."""
    evidence = evidence_of()
    for value in range(FEW_VALUES):
        names = ("c", f"c={value:02x}")
        assert rate(evidence, *names) > 0.9
        assert not evidence.is_verified(names[1])
        evidence.begun(names)
        assert rate(evidence, *names[1:]) == 0.02
        evidence.record(names, form(value), is_same=True)
        assert evidence.is_verified(names[1])
    assert rate(evidence, "c=3f") == 0.02
    assert evidence.is_verified("c=3f")


def test_drops_that_could_not_all_be_kept_are_sent():
    """While thousands of drops wait for the tests of values, further links are fetched."""
    evidence = evidence_of()
    for _ in range(MAX_WAITING):
        evidence.dropped(("c", "c=01"))
    assert rate(evidence, "c", "c=02") == 1


@pytest.mark.parametrize("n_groups", [8, 1000])
def test_a_wrong_value_is_switched_off_and_the_next_wrong_one_takes_the_candidate_with_it(n_groups: int):
    """Also if training knows a thousand groups. A second test of the wrong value says nothing new."""
    evidence = RuleEvidence(0.02)
    evidence.add_training({"c": (n_groups, 0)})
    assert record(evidence, 1, 1, is_same=False) == "c=01"
    assert record(evidence, 1, 2, is_same=False) is None
    assert evidence.switched_off == {"c=01"}
    assert rate(evidence, "c", "c=02") > 0.9
    assert record(evidence, 2, 3, is_same=False) == "c"


def test_after_a_wrong_value_every_value_needs_its_test():
    """Ten right ones are not enough then."""
    evidence = evidence_of()
    record(evidence, 0, 0, is_same=False)
    for value in range(1, 20):
        assert not evidence.is_verified(f"c={value:02x}")
        assert record(evidence, value, value, is_same=True) is None
        assert evidence.is_verified(f"c={value:02x}")


def test_a_candidate_that_is_believed_at_last_keeps_its_tests_if_none_was_wrong():
    """A wrong one may have come too early to be understood: it says nothing against the believed rule."""
    evidence = RuleEvidence(0.02)
    evidence.add_training({"right?": (4, 0), "wrong?": (4, 0)})
    for number in range(5):
        evidence.record(("right?",), form(number), is_same=True)
        evidence.record(("wrong?",), form(number), is_same=False)
    assert evidence.switched_off == {"wrong?"}
    evidence.add_training({"right": (40, 0), "wrong": (40, 0)})
    assert evidence.is_verified("right")
    assert not evidence.is_verified("wrong")
    assert evidence.switched_off == {"wrong?"}


def test_crawlers_share_the_tests_of_values():
    """What one crawler found right or wrong needs no test in another one."""
    ours, theirs = evidence_of(), evidence_of()
    record(theirs, 1, 1, is_same=True)
    record(theirs, 2, 2, is_same=False)
    assert ours.take_in(theirs.own_counts()) == ["c=02"]
    assert ours.is_verified("c=01")
    assert ours.switched_off == {"c=02"}


def test_values_are_named_in_no_list_of_rules():
    """Neither among the rules with drops nor among their states."""
    evidence = evidence_of()
    evidence.dropped(("c", "c=01"))
    record(evidence, 1, 1, is_same=True)
    assert [state.rule for state in evidence.states()] == ["c"]
    assert set(evidence.n_dropped()) == {"c"}


def built(site: Site, folder: Path, different: set[str]) -> dict[str, object]:
    """
    Build a chain of hubs, each with the items of one new value of ``view`` beside the plain ones. An item shown with a
    *different* value is another page. Return the settings of its crawl.
    """
    site.robots()
    plain = [f"/item?n={n}" for n in range(N_ITEMS)]
    for n, path in enumerate(plain):
        show(site, path, n)
    for hub, value in enumerate(NEW):
        links = [f"{path}&amp;view={value}" for path in plain]
        onward = [f"/hub/{hub + 1}"] if hub + 1 < len(NEW) else []
        site.page(f"/hub/{hub}" if hub else "/", *plain, *links, *onward, html=text(f"hub {hub}"))
        for n, path in enumerate(plain):
            show(site, f"{path}&view={value}", f"{value} {n}" if value in different else n)
    model = fitted(site.host).save(folder / "model")
    return {"DEDUP_MODEL": model, "CONCURRENT_REQUESTS": 4, "DEDUP_EXPLORATION": 0.02}


def crawled(site: Site, folder: Path, different: set[str], **settings: object) -> Crawl:
    return walk(site, folder, **{**built(site, folder, different), **settings})


def missing(site: Site, different: set[str]) -> list[str]:
    """Return the pages that only one URL shows, and that were never requested."""
    own = [f"/item?n={n}&view={value}" for value in different for n in range(N_ITEMS)]
    return sorted(set(own) - set(site.asked))


def test_new_values_are_dropped_after_a_test_each(tmp_path: Path):
    """
    Two dozen new values of fifteen items each make no difference: most of these URLs are never fetched. The report
    names the candidate that dropped them.
    """
    with Site() as site:
        crawl = crawled(site, tmp_path, set(), DEDUP_DROPPED=tmp_path / "drops.jsonl")
        asked = [path for path in site.asked if "view=" in path]
    assert len(asked) < 0.2 * len(NEW) * N_ITEMS
    assert "dedup/values/switched_off" not in crawl.stats
    make_report(tmp_path / "report.html", models=[tmp_path / "model"], dropped=tmp_path / "drops.jsonl")
    assert "drop `view` anywhere" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("different", [{"look0"}, {"look7"}, {"look4", "look20"}, set(NEW)], ids=len)
def test_no_page_of_a_value_that_matters_is_lost(tmp_path: Path, different: set[str]):
    """Whether the first new value matters, a later one, two of them, or all. The log says that a test has shown it."""
    with Site() as site:
        crawl = crawled(site, tmp_path, different)
        assert missing(site, different) == []
    assert crawl.stats["dedup/values/switched_off"] >= 1
    assert "is switched off, it merges different pages (" in crawl.log
    assert " 0 explored" not in crawl.log


@pytest.mark.parametrize("settings", [{"DEDUP_EXPLORATION": 0}, {"DEDUP_DRY_RUN": True}], ids=["no tests", "dry run"])
def test_without_tests_a_candidate_is_not_applied(tmp_path: Path, settings: dict[str, object]):
    """All URLs with new values are fetched, and none is called a duplicate."""
    with Site() as site:
        crawl = crawled(site, tmp_path, set(), **settings)
        asked = {path for path in site.asked if "view=" in path}
    assert len(asked) == len(NEW) * N_ITEMS
    assert "dedup/request/would_drop" not in crawl.stats


@pytest.mark.parametrize("n_before", [25, 60])
def test_a_kill_loses_no_page_of_a_value_that_matters(tmp_path: Path, n_before: int):
    """The drops of values that no test has confirmed survive the kill, and the next process tests them."""
    different = {"look0", "look3"}
    with Site() as site:
        settings = {**built(site, tmp_path, different), "JOBDIR": tmp_path / "job"}
        site.delay_s = 0.01
        stop_after(site, tmp_path, n_before, signal.SIGKILL, **settings)
        assert missing(site, different) != []
        walk(site, tmp_path, **settings)
        assert missing(site, different) == []
