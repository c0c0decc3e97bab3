"""Chains of rules end in one form, in any order: one target for all kinds of URLs of a page."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from dedup_crawler.methods.verified import Verified
from dedup_crawler.rules.applying.engine import RuleEngine
from planted_visits import Visits, numbered, shuffled

N_TOPICS = 400


def six_kinds(seed: int) -> Visits:
    """Return topics with six kinds of URLs, some for each: joins, titles, sessions, folders, schemes of paths."""
    draw = random.Random(seed)
    visits: Visits = []
    for topic in range(N_TOPICS):
        session = f"{draw.getrandbits(64):016x}"
        kinds = [
            f"/topic/{topic}",
            f"/topic/{topic}-title-{draw.getrandbits(20)}",
            f"/topic/{topic}?sid={session}",
            f"/index.php?topic={topic}&view=flat",
            f"/index.php?sid={session}&topic={topic}&view=flat",
            f"/forum/topic/{topic}",
        ]
        visits += [(topic, rest) for rest in draw.sample(kinds, 3)]
        visits.append((f"user {topic}", f"/user/{topic}"))
    return shuffled(visits, seed)


@pytest.fixture(scope="module", params=[0, 1])
def learnt(request: pytest.FixtureRequest) -> tuple[Verified, list[str], list[int]]:
    """A model, and its training crawl."""
    urls, pages = numbered(six_kinds(request.param))
    return Verified().fit(urls, pages), urls, pages


def test_all_kinds_of_a_page_get_one_form(learnt: tuple[Verified, list[str], list[int]]) -> None:
    """Two changed URLs of a page never get two forms, and a form is its own form."""
    method, urls, pages = learnt
    forms_of: dict[int, set[str]] = defaultdict(set)
    for url, page in zip(urls, pages, strict=True):
        forms_of[page].add(method.canonicalize(url))

    assert method.quality_["rules"] >= 4
    assert {len(forms) for forms in forms_of.values()} == {1}
    for forms in forms_of.values():
        (form,) = forms
        assert method.canonicalize(form) == form


def test_the_order_of_the_rules_does_not_matter(learnt: tuple[Verified, list[str], list[int]]) -> None:
    """Any order of rules of one specificity gives the same forms."""
    method, urls, _ = learnt
    forms = [method.engine_.form(url) for url in urls]

    for seed in range(3):
        rules = list(method.engine_.rules)
        random.Random(seed).shuffle(rules)
        engine = RuleEngine(rules)
        assert [engine.form(url) for url in urls] == forms


def test_new_urls_end_where_the_crawl_did(learnt: tuple[Verified, list[str], list[int]]) -> None:
    """All six kinds of URLs of a new topic."""
    method, _, _ = learnt
    kinds = ["/topic/9999", "/topic/9999-a-title", "/topic/9999?sid=00c0ffee", "/index.php?topic=9999&view=flat",
             "/index.php?sid=00c0ffee&topic=9999&view=flat", "/forum/topic/9999"]  # fmt: skip

    assert len({method.canonicalize(f"http://site.example{rest}") for rest in kinds}) == 1
