"""Names in path segments, lists as values, and semicolons between names: neutral ones are learnt, as in any query."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.methods import load_model, make_method
from dedup_crawler.methods.verified import Verified
from dedup_crawler.rules.exchange.exports import to_discarder
from dedup_crawler.urls.normal import normal_form

START = "http://list.example"
TAGS = [f"tag{letter}" for letter in "abcdefghijk"]
N_COMMITS = 200
Rows = dict[str, int]
"""URL -> page."""


def in_path(scope: str, sort: str, tags: tuple[str, ...], page: int) -> str:
    """``/all/scope:new/sort:age/tags:a,b/page:2/``; the first page has no number."""
    parts = [f"scope:{scope}", f"sort:{sort}", f"tags:{','.join(tags)}", *([f"page:{page}"] if page > 1 else [])]
    return f"{START}/all/{'/'.join(parts)}/"


def in_query(scope: str, sort: str, tags: tuple[str, ...], page: int) -> str:
    """``/all?page=2&scope=new&sort=age&tags=a+b``."""
    return f"{START}/all?page={page}&scope={scope}&sort={sort}&tags={'+'.join(tags)}"


def listings(listing: Callable[[str, str, tuple[str, ...], int], str]) -> Rows:
    """Return listings of pairs of tags, whose order does not matter; scope, sort and page always matter."""
    pages: dict[object, int] = {}
    rows = {}
    for scope in ("new", "open"):
        for sort in ("age", "votes"):
            for tags in permutations(TAGS, 2):
                for page in (1, 2):
                    what = scope, sort, frozenset(tags), page
                    rows[listing(scope, sort, tags, page)] = pages.setdefault(what, len(pages))
    return rows


def commits(seed: int = 0) -> Rows:
    """Return commits with a session; each has a page that is the same in any tab, and one for each file's version."""
    draw = random.Random(seed)
    rows = {}
    for number in range(N_COMMITS):
        for action in ("commit", "tree"):
            for _ in range(3):
                session = f";s={draw.getrandbits(40):x}" if draw.random() < 0.8 else ""
                rows[f"{START}/?p=git;a={action};h={number:06x}{session}"] = 2 * number + (action == "tree")
    return rows


SITES: dict[str, Callable[[], Rows]] = {
    "lists in paths": lambda: listings(in_path),
    "lists in queries": lambda: listings(in_query),
    "semicolons": commits,
}


def fitted(rows: Rows, *, is_neutral: bool = True) -> Verified:
    """Return the model learnt from a crawl; if nothing is neutral, each URL shows a page of its own."""
    urls = list(rows)
    random.Random(0).shuffle(urls)
    model = make_method("verified").fit(urls, [rows[url] for url in urls] if is_neutral else range(len(urls)))
    assert isinstance(model, Verified)
    return model


@pytest.fixture(scope="module")
def models() -> dict[str, Verified]:
    """Return the models of all sites."""
    return {name: fitted(rows()) for name, rows in SITES.items()}


@pytest.mark.parametrize(("name", "listing"), [("lists in paths", in_path), ("lists in queries", in_query)])
def test_the_order_of_a_list_is_learnt(models: dict[str, Verified], name: str, listing: Callable[..., str]):
    """``tags:b,a`` is ``tags:a,b``, also for tags that never occurred together; scope, sort and page stay."""
    model = models[name]

    assert [line.partition("`")[0] for line in model.learnt()] == ["ignore the order of the values of "]
    for scope, sort, page in (("new", "age", 1), ("open", "votes", 2)):
        form = listing(scope, sort, ("tagy", "tagz"), page)
        assert model.canonicalize(listing(scope, sort, ("tagz", "tagy"), page)) == form


def test_a_session_between_semicolons_is_learnt(models: dict[str, Verified]):
    """New sessions are dropped and nothing else, and the form is a URL of the site."""
    model = models["semicolons"]
    forms = {(model.canonicalize(url), page) for url, page in commits(seed=1).items()}

    assert len(forms) == len({form for form, _ in forms}) == 2 * N_COMMITS
    assert model.canonicalize(f"{START}/?p=git;a=commit;h=000007;s=new") == f"{START}/?a=commit;h=000007;p=git"
    assert [line.partition(":")[0] for line in model.learnt()] == ["drop `s` anywhere"]


def test_the_order_of_names_is_asked_about():
    """``/sort=age/scope=new/`` is ``/scope=new/sort=age/`` only if the crawl shows it."""
    rows = {}
    for number in range(150):
        rows[f"{START}/all/scope={number}/sort=age/"] = number
        rows[f"{START}/all/sort=age/scope={number}/"] = number
    asked = f"{START}/all/sort=votes/scope=999/"

    model = fitted(rows)
    assert model.canonicalize(asked) == f"{START}/all/scope=999/sort=votes/"
    assert "drop the order of names in the path" in model.explain(asked).reason
    assert fitted(rows, is_neutral=False).canonicalize_many(rows) == list(rows)


@pytest.mark.parametrize("name", SITES)
def test_what_selects_the_page_stays(name: str):
    """The same URLs, each a page of its own: nothing is merged."""
    rows = SITES[name]()
    model = fitted(rows, is_neutral=False)

    assert len(set(model.canonicalize_many(rows))) == len(rows)


@pytest.mark.parametrize("name", SITES)
def test_is_saved_with_the_model(models: dict[str, Verified], name: str, tmp_path: Path):
    """A loaded model gives the same forms, and its digest is the same."""
    model = models[name]
    loaded = load_model(model.save(tmp_path / "model"))

    assert loaded.canonicalize_many(SITES[name]()) == model.canonicalize_many(SITES[name]())
    assert loaded.digest == model.digest


_parts = st.sampled_from(["/all", "/scope:new", "/sort:age", "/tags:b,a", "/tags:a,b", "/page:2", "/", "?", "&"])
_queries = st.sampled_from(["?tags=b+a", "?page=1&scope=new&sort=age&tags=b+a", "?tags=b+a&tags=a", "?x=1", ""])
_lists = st.builds(
    lambda parts, query: f"{''.join(parts).removeprefix('/')}{query}", st.lists(_parts, max_size=7), _queries
)
_names = st.tuples(st.sampled_from(["p=git", "a=tree", "h=000001", "s=1", "x=1", "s", ""]), st.sampled_from(";&"))
_separated = st.lists(_names, max_size=6).map(lambda parts: f"?{''.join(map(''.join, parts))}")


@given(st.sampled_from(list(SITES)), _lists | _separated)
def test_forms_are_their_own(models: dict[str, Verified], name: str, rest: str):
    """For any place of the names and any separator: a form is its own form."""
    model = models[name]
    url = normal_form(f"{START}/{rest}")
    form = model.canonicalize(url)

    assert model.canonicalize(form) == form
    assert model.explain(url).form == form
    assert bool(model.fired(url)) == (form != url)


def test_other_programs_are_told_nothing_that_they_misread(models: dict[str, Verified]):
    """Other programs would split queries with semicolons elsewhere: the rule about the session is not exported."""
    export = to_discarder(models["semicolons"].model_rules(), with_guards=False)

    assert export.n_said == 0
    assert "lists in queries" in export.left_out[0].reason
