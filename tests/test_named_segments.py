"""Listings with named path segments, some with lists as values: neutral ones are learnt."""

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
from dedup_crawler.rules.export.discarder import to_discarder
from dedup_crawler.urls.normal import normal_form

START = "http://list.example"
TAGS = [f"tag{letter}" for letter in "abcdefghijk"]
Listing = Callable[[str, str, tuple[str, ...], int], str]


def in_path(scope: str, sort: str, tags: tuple[str, ...], page: int) -> str:
    """``/all/scope:new/sort:age/tags:a,b/page:2/``; the first page has no number."""
    parts = [f"scope:{scope}", f"sort:{sort}", f"tags:{','.join(tags)}", *([f"page:{page}"] if page > 1 else [])]
    return f"{START}/all/{'/'.join(parts)}/"


def in_query(scope: str, sort: str, tags: tuple[str, ...], page: int) -> str:
    """``/all?page=2&scope=new&sort=age&tags=a+b``."""
    return f"{START}/all?page={page}&scope={scope}&sort={sort}&tags={'+'.join(tags)}"


def visits(listing: Listing, *, in_order: bool) -> tuple[list[str], list[int]]:
    """Return listings of pairs of tags, whose order matters if *in_order*; scope, sort and page always matter."""
    pages: dict[object, int] = {}
    rows = {}
    for scope in ("new", "open"):
        for sort in ("age", "votes"):
            for tags in permutations(TAGS, 2):
                for page in (1, 2):
                    what = scope, sort, tags if in_order else frozenset(tags), page
                    rows[listing(scope, sort, tags, page)] = pages.setdefault(what, len(pages))
    urls = list(rows)
    random.Random(0).shuffle(urls)
    return urls, [rows[url] for url in urls]


@pytest.fixture(scope="module", params=[in_path, in_query])
def fitted(request: pytest.FixtureRequest) -> tuple[Listing, Verified]:
    """Return a site, and the model learnt from a crawl of it."""
    model = make_method("verified").fit(*visits(request.param, in_order=False))
    assert isinstance(model, Verified)
    return request.param, model


def test_the_order_of_a_list_is_learnt(fitted: tuple[Listing, Verified], tmp_path: Path):
    """``tags:b,a`` is ``tags:a,b``, also for tags that never occurred together; scope, sort and page stay."""
    listing, model = fitted

    assert [line.partition(":")[0].partition("`")[0] for line in model.learnt()] == [
        "ignore the order of the values of "
    ]
    for scope, sort, page in (("new", "age", 1), ("open", "votes", 2)):
        assert model.canonicalize(listing(scope, sort, ("tagz", "tagy"), page)) == listing(
            scope, sort, ("tagy", "tagz"), page
        )
    loaded = load_model(model.save(tmp_path / "model"))
    urls, _ = visits(listing, in_order=False)
    assert loaded.canonicalize_many(urls) == model.canonicalize_many(urls)


def test_the_order_of_names_is_asked_about():
    """``/sort=age/scope=new/`` is ``/scope=new/sort=age/`` only if the crawl shows it."""
    rows = {}
    for number in range(150):
        rows[f"{START}/all/scope={number}/sort=age/"] = number
        rows[f"{START}/all/sort=age/scope={number}/"] = number
    urls = list(rows)
    random.Random(0).shuffle(urls)
    asked = f"{START}/all/sort=votes/scope=999/"

    model = make_method("verified").fit(urls, [rows[url] for url in urls])
    assert model.canonicalize(asked) == f"{START}/all/scope=999/sort=votes/"
    assert "drop the order of names in the path" in model.explain(asked).reason
    assert make_method("verified").fit(urls, range(len(urls))).canonicalize_many(urls) == urls


@pytest.mark.parametrize("listing", [in_path, in_query])
def test_an_order_that_matters_stays(listing: Listing):
    """The same URLs, each order a page of its own: nothing is merged."""
    urls, pages = visits(listing, in_order=True)
    model = make_method("verified").fit(urls, pages)

    assert model.canonicalize_many(urls) == urls


_parts = st.sampled_from(["/all", "/scope:new", "/sort:age", "/tags:b,a", "/tags:a,b", "/page:2", "/", "?", "&"])
_queries = st.sampled_from(["?tags=b+a", "?page=1&scope=new&sort=age&tags=b+a", "?tags=b+a&tags=a", "?x=1", ""])


@given(st.lists(_parts, max_size=7), _queries)
def test_forms_are_their_own(fitted: tuple[Listing, Verified], parts: list[str], query: str):
    """For any place of the names: a form is its own form."""
    _, model = fitted
    url = normal_form(f"{START}/{''.join(parts).removeprefix('/')}{query}")
    form = model.canonicalize(url)

    assert model.canonicalize(form) == form
    assert model.explain(url).form == form
    assert bool(model.fired(url)) == (form != url)


def test_other_programs_are_told_nothing_that_they_misread(fitted: tuple[Listing, Verified]):
    """No rule about named segments is exported."""
    assert to_discarder(fitted[1].model_rules(), with_guards=False).n_said == 0
