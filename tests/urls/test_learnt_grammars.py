"""Names in paths, lists as values, and semicolons between names: neutral ones are learnt, as in any query.

Session ids in paths are new in every answer: they are learnt from a database and during a crawl, without a lost page.
"""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.evidence.labelling import label_store
from dedup_crawler.methods import load_model, make_method
from dedup_crawler.methods.model.training_data import training_data
from dedup_crawler.methods.verified import Verified
from dedup_crawler.methods.wrapped import without
from dedup_crawler.pages.store import PageStore
from dedup_crawler.rules.exchange.exports import to_discarder
from dedup_crawler.urls.normal import normal_form
from live_site import walk
from session_site import KINDS, PAGES, SessionSite, links_of

START = "http://shop.example"
TAGS = [f"tag{letter}" for letter in "abcdefghijk"]
N_COMMITS = 200
LEARN_AFTER = 200
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


def sessions(kind: str, n_urls: int, seed: int = 0) -> Rows:
    """Return URLs of a breadth-first crawl of the shop, whose answers write a new session into all links."""
    write, session = KINDS[kind]
    draw = random.Random(seed)
    seen, queue, rows = {"/"}, deque(["/"]), {}
    while queue and len(rows) < n_urls:
        url = queue.popleft()
        page = session.sub("", url) or "/"
        rows[START + url] = PAGES.index(page)
        sid = f"{draw.getrandbits(96):024x}"
        for link in (write(link, sid) for link in links_of(page)):
            if link not in seen:
                seen.add(link)
                queue.append(link)
    return rows


def with_origin() -> Rows:
    """Return items under sessions in their path, with the name of their origin in the query."""
    draw = random.Random(0)
    return {
        f"{START}/item/{n}{session}?from={draw.randrange(40)}": n
        for n in range(800)
        for session in ("", *(f";jsessionid={draw.getrandbits(64):016x}" for _ in range(3)))
        for _ in range(2)
    }


def selecting(name: str, values: str) -> Rows:
    """Return pages that a parameter selects, at the end of the path and in the middle."""
    rests = [f"item/{n};{name}={value}" for n in range(100) for value in values]
    rests += [f"list;{name}={value}/{n}" for n in range(100) for value in values]
    return {f"{START}/{rest}": page for page, rest in enumerate([*rests, *(f"item/{n}" for n in range(100))])}


SITES: dict[str, Callable[[], Rows]] = {
    "lists in paths": partial(listings, in_path),
    "lists in queries": partial(listings, in_query),
    "semicolons": commits,
    "color": partial(selecting, "color", "rgb"),
    "v": partial(selecting, "v", "123"),
    "sessions with origins": with_origin,
    **{kind: partial(sessions, kind, 500) for kind in KINDS},
}
NEW_SESSIONS: dict[str, Rows] = {
    "semicolons": commits(seed=1),
    **{kind: dict([*sessions(kind, 800, seed=1).items()][1:]) for kind in KINDS},
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


@pytest.mark.parametrize("name", NEW_SESSIONS)
def test_pages_under_new_sessions_get_one_form_each(models: dict[str, Verified], name: str):
    """New sessions are dropped and nothing else: different pages stay different."""
    forms = {(models[name].canonicalize(url), page) for url, page in NEW_SESSIONS[name].items()}

    assert len(forms) == len({form for form, _ in forms}) == len(set(NEW_SESSIONS[name].values()))


@pytest.mark.parametrize(
    ("name", "url", "form", "sentence"),
    [
        ("semicolons", "/?p=git;a=tree;h=07;s=new", "/?a=tree;h=07;p=git", "drop `s` anywhere: "),
        ("at the end", "/shop/3;jsessionid=f00d", "/shop/3", "drop path parameter `jsessionid` anywhere: 81 groups"),
        ("in the middle", "/shop;jsessionid=f00d/3", "/shop/3", "drop path parameter `jsessionid` anywhere: 81 gr"),
        ("in parentheses", "/(S(f00d))/shop/3", "/shop/3", "drop the path part in parentheses anywhere: 81 groups"),
        ("a segment", "/s-f00d/shop/3", "/*/shop/3", "ignore the value of path part 1 anywhere: 81 groups"),
    ],
)
def test_says_what_it_does(models: dict[str, Verified], name: str, url: str, form: str, sentence: str):
    """One rule is learnt for the whole site, for any depth of a path, and it names the parameter."""
    model, url = models[name], START + url

    assert [line.startswith(sentence) for line in model.learnt()] == [True]
    assert model.explain(url).reason.startswith(sentence)
    assert model.canonicalize(url) == START + form
    rules = [rule for rule, said in model.rule_sentences().items() if said.startswith(sentence)]
    assert set(rules) <= set(model.fired(url))
    assert without(model, model.fired(url)).canonicalize(url) == url


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


@pytest.mark.parametrize("name", ["lists in paths", "lists in queries", "semicolons", "color", "v"])
def test_what_selects_the_page_stays(name: str):
    """Each URL a page of its own: nothing is merged, at either end of the path."""
    rows = SITES[name]()
    model = fitted(rows, is_neutral=False)

    assert len(set(model.canonicalize_many(rows))) == len(rows)


def test_a_session_is_dropped_beside_a_parameter_that_matters():
    """The version of ``;jsessionid=...;v=2`` stays, at its place."""
    draw = random.Random(0)
    rows = {
        f"{START}/item/{n};jsessionid={draw.getrandbits(64):016x};v={v}": 2 * n + v
        for n in range(60)
        for v in (1, 2)
        for _ in range(3)
    }
    model = fitted(rows)

    assert model.canonicalize(f"{START}/item/7;jsessionid=f00d;v=2") == f"{START}/item/7;v=2"
    assert model.canonicalize(f"{START}/item/7;v=2") == f"{START}/item/7;v=2"
    unknown = f"{START}/item/7;jsessionid=f00d;w=2"
    assert model.canonicalize(unknown) == unknown


@pytest.mark.parametrize("name", SITES)
def test_is_saved_with_the_model(models: dict[str, Verified], name: str, tmp_path: Path):
    """A loaded model gives the same forms, and its digest is the same."""
    model = models[name]
    loaded = load_model(model.save(tmp_path / "model"))
    asked = NEW_SESSIONS.get(name) or SITES[name]()

    assert loaded.canonicalize_many(asked) == model.canonicalize_many(asked)
    assert loaded.digest == model.digest


_parts = ["/all", "/scope:new", "/sort:age", "/tags:b,a", "/tags:a,b", "/page:2", "/", "?", "&", "=", "x=1"]
_parts += ["/shop", "/3", "/item", ";jsessionid=a", ";jsessionid=0/b", ";v=1", "/(S(x))", ";;"]
_queries = st.sampled_from(["?tags=b+a", "?page=1&scope=new&sort=age&tags=b+a", "?tags=b+a&tags=a", "?x=1", ""])
_paths = st.builds(
    lambda parts, query: f"{''.join(parts)}{query}", st.lists(st.sampled_from(_parts), max_size=8), _queries
)
_names = st.tuples(st.sampled_from(["p=git", "a=tree", "h=000001", "s=1", "x=1", "s", ""]), st.sampled_from(";&"))
_separated = st.lists(_names, max_size=6).map(lambda parts: f"?{''.join(map(''.join, parts))}")


@given(st.sampled_from(list(SITES)), _paths | _separated)
def test_a_form_is_its_own_form(models: dict[str, Verified], name: str, rest: str):
    """For any place of the names and any separator: a form is normal and its own form, and the rules are known."""
    model = models[name]
    url = normal_form(f"{START}/{rest.removeprefix('/')}")
    form = model.canonicalize(url)

    assert model.canonicalize(form) == form == normal_form(form)
    assert model.explain(url).form == form
    assert bool(model.fired(url)) == (form != url)
    assert set(model.fired(url)) <= model.rule_sentences().keys()


@pytest.mark.parametrize(
    ("name", "reason"), [("semicolons", "lists in queries"), ("sessions with origins", "names in paths")]
)
def test_other_programs_are_told_nothing_that_they_misread(models: dict[str, Verified], name: str, reason: str):
    """Other programs read paths literally and split queries elsewhere: no rule of such a host is exported."""
    export = to_discarder(models[name].model_rules(), with_guards=False)

    assert export.n_said == 0
    assert any(reason in left.reason for left in export.left_out)


def test_learns_from_a_database_of_a_crawl(tmp_path: Path):
    """The labels of real pages, whose links have the session of their answer, teach the same."""
    database = tmp_path / "crawl.db"
    with SessionSite("at the end") as site:
        settings = {"DEDUP_COLLECT": database, "CLOSESPIDER_PAGECOUNT": 250}
        assert walk(site, tmp_path, **settings).status == 0
    with PageStore(database, create=False) as store:
        label_store(store, n_workers=1)
        data = training_data(store)
    model = make_method("verified").fit(data.urls, data.clusters, data.referrers, data.redirects)
    start = data.urls[0].partition("/")[0] + "//" + site.host

    assert "drop path parameter `jsessionid` anywhere" in model.learnt()[0]
    assert len({model.canonicalize(f"{start}{page};jsessionid=f00d") for page in PAGES}) == len(PAGES)


@pytest.mark.parametrize(("kind", "exploration"), [("at the end", 0.02), ("a segment", 0)])
def test_a_crawl_learns_and_ends(tmp_path: Path, kind: str, exploration: float):
    """
    Without the filter the crawl never ends, because every answer has new links. With it no page is lost, and after the
    first model pages are only fetched again to test the rules.
    """
    models = tmp_path / "crawl.models"
    with SessionSite(kind, LEARN_AFTER + 40, models) as site:
        settings = {
            "DEDUP_LEARN_AFTER": LEARN_AFTER,
            "DEDUP_COLLECT": tmp_path / "crawl.db",
            "DEDUP_EXPLORATION": exploration,
        }
        crawl = walk(site, tmp_path, LOG_LEVEL="INFO", CONCURRENT_REQUESTS=4, CLOSESPIDER_PAGECOUNT=3_000, **settings)
        asked = site.pages_asked()
    learnt_from = re.search(r"its (\d+) pages are (\d+) different", crawl.log)

    assert crawl.lines("ERROR") == []
    assert "Closing spider (finished)" in crawl.log
    assert set(asked) == set(PAGES)
    assert learnt_from is not None
    n_missing = len(PAGES) - int(learnt_from[2])
    n_tests = sum(int(str(crawl.stats.get(f"dedup/{name}", 0))) for name in ("request/explored", "explored/owners"))
    n_again = int(str(crawl.stats["dedup/request/reloaded"]))
    assert asked.total() <= int(learnt_from[1]) + n_missing + n_tests + n_again + 8  # requests in flight
    assert n_tests <= 400  # half of them owners, fetched before there was a model
    assert bool(n_tests) == bool(exploration)
