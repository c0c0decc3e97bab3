"""Proposals of the literature's miners to our own method, and the resulting rules."""

from __future__ import annotations

import pytest

from dedup_crawler.methods.verified import Verified
from dedup_crawler.rules.learning import host_crawl
from dedup_crawler.rules.learning.belief import UNKNOWN
from dedup_crawler.rules.learning.columns import UrlColumns
from dedup_crawler.rules.learning.proposers import MAX_PROPOSALS, PROPOSERS, proposals
from planted_visits import HOST, Visits, numbered, shuffled


def stories(n: int = 80) -> Visits:
    """Every second story has two URLs that differ within a path part, so that no key of one is in the other."""
    visits: Visits = []
    for i in range(n):
        visits += [(i, f"/story_{7 * i + 1}"), (f"user {i}", f"/user?id={i}")]
        if i % 2:
            visits.append((i, f"/story?id={7 * i + 1}"))
    return shuffled(visits)


def fitted(visits: Visits) -> Verified:
    return Verified().fit(*numbered(visits))


def test_a_rule_that_only_a_miner_can_say() -> None:
    """DustBuster says ``/story?id=7`` is ``/story_7``; the crawl confirms it, and the rule says who proposed it."""
    learnt = fitted(stories())

    (rule,) = learnt.engine_.rules
    assert rule.origin == "dustbuster"
    assert learnt.canonicalize(f"http://{HOST}/story?id=5000") == f"http://{HOST}/story_5000"
    assert learnt.canonicalize(f"http://{HOST}/user?id=5000") == f"http://{HOST}/user?id=5000"
    assert learnt.learnt()[0].startswith("replace '/story?id=' at the start by '/story_': 40 groups, 0 contradictions")


def test_a_proposed_substring_holds_in_the_sections_where_it_was_tested() -> None:
    """North, south and west have stories; of those in the east, and at the top, nobody knows."""
    sections = ["north", "south", "west"]
    learnt = fitted([((section, page), f"/{section}{rest}") for section in sections for page, rest in stories(40)])

    assert learnt.canonicalize(f"http://{HOST}/west/story?id=5000") == f"http://{HOST}/west/story_5000"
    for untested in ("/east/story?id=5000", "/story?id=5000"):
        assert learnt.canonicalize(f"http://{HOST}{untested}") == f"http://{HOST}{untested}"
    assert " where path part 1 is north or south or west: " in "".join(learnt.learnt())


def test_without_miners_it_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted rule is not among our own hypotheses."""
    monkeypatch.setattr(host_crawl, "proposals", lambda columns: [])

    assert fitted(stories()).learnt() == []


def test_a_proposal_is_judged_like_any_hypothesis() -> None:
    """The same URLs, but one in three shows another page: proposals come, but none is believed."""
    visits = [
        (("alone", page) if rest.startswith("/story?id=") and int(rest[10:]) % 3 == 0 else page, rest)
        for page, rest in stories(200)
    ]

    assert proposals(UrlColumns(HOST, *numbered(visits))) != []
    assert fitted(visits).learnt() == []


def test_explained_duplicates_are_no_reason_to_propose() -> None:
    """Without remaining duplicates no miner runs; unknown pages are no duplicates."""
    urls, pages = numbered(stories())

    assert proposals(UrlColumns(HOST, urls, list(range(len(urls))))) == []
    assert proposals(UrlColumns(HOST, urls, [UNKNOWN] * len(urls))) == []
    assert proposals(UrlColumns(HOST, urls, pages)) != []


def test_proposals_are_few_and_always_the_same() -> None:
    """A bounded number of each miner, with its name, in a fixed order."""
    urls, pages = numbered(stories(300))

    found = proposals(UrlColumns(HOST, urls, pages))

    assert found == proposals(UrlColumns(HOST, urls, pages))
    for name in PROPOSERS:
        assert sum(rule.origin == name for rule in found) <= MAX_PROPOSALS
    assert {rule.origin for rule in found} <= PROPOSERS.keys()
