"""Queries with semicolons between names, as HTML 4 recommends (appendix B.2.2)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.methods import load_model, make_method
from dedup_crawler.methods.verified import Verified
from dedup_crawler.rules.export.discarder import to_discarder
from dedup_crawler.urls.normal import normal_form

START = "http://code.example"
N_COMMITS = 200


def repository(seed: int = 0) -> tuple[list[str], list[int]]:
    """Return commits with a session; each has a page that is the same in any tab, and one for each file's version."""
    draw = random.Random(seed)
    rows = {}
    for number in range(N_COMMITS):
        for action in ("commit", "tree"):
            for _ in range(3):
                session = f";s={draw.getrandbits(40):x}" if draw.random() < 0.8 else ""
                rows[f"{START}/?p=git;a={action};h={number:06x}{session}"] = 2 * number + (action == "tree")
    urls = list(rows)
    draw.shuffle(urls)
    return urls, [rows[url] for url in urls]


@pytest.fixture(scope="module")
def model() -> Verified:
    """Return the model learnt from a crawl of the repository."""
    fitted = make_method("verified").fit(*repository())
    assert isinstance(fitted, Verified)
    return fitted


def test_a_session_between_semicolons_is_learnt(model: Verified):
    """New sessions are dropped and nothing else, and the form is a URL of the site."""
    urls, pages = repository(seed=1)
    forms = {(model.canonicalize(url), page) for url, page in zip(urls, pages, strict=True)}

    assert len(forms) == len({form for form, _ in forms}) == 2 * N_COMMITS
    assert model.canonicalize(f"{START}/?p=git;a=commit;h=000007;s=new") == f"{START}/?a=commit;h=000007;p=git"
    assert [line.partition(":")[0] for line in model.learnt()] == ["drop `s` anywhere"]


def test_is_saved_with_the_model(model: Verified, tmp_path):
    """A loaded model gives the same forms, and its digest is the same."""
    loaded = load_model(model.save(tmp_path / "model"))
    urls, _ = repository(seed=1)

    assert loaded.canonicalize_many(urls) == model.canonicalize_many(urls)
    assert loaded.digest == model.digest


def test_values_that_select_the_page_stay():
    """The same URLs, each a page of its own: nothing is merged."""
    urls, _ = repository()
    fitted = make_method("verified").fit(urls, range(len(urls)))

    assert len(set(fitted.canonicalize_many(urls))) == len(urls)


_parts = st.sampled_from(["p=git", "a=tree", "h=000001", "s=1", "s=2", "x=1", "s", ""])
_queries = st.lists(st.tuples(_parts, st.sampled_from(";&")), max_size=6).map(
    lambda parts: "".join(map("".join, parts))
)


@given(_queries)
def test_forms_are_their_own(model: Verified, query: str):
    """For any separator: a form is its own form."""
    form = model.canonicalize(normal_form(f"{START}/?{query}"))

    assert model.canonicalize(form) == form


def test_other_programs_are_told_nothing_of_such_queries(model: Verified):
    """Other programs would split these queries elsewhere."""
    export = to_discarder(model.model_rules(), with_guards=False)

    assert export.n_said == 0
    assert "lists in queries" in export.left_out[0].reason
