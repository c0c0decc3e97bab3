"""Session ids in paths, new in every answer: learnt from a database and during a crawl, without a lost page."""

from __future__ import annotations

import random
import re
from collections import deque
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

HOST = "http://shop.example"
LEARN_AFTER = 200
Rows = list[tuple[str, int]]


def crawled(kind: str, n_urls: int, seed: int = 0) -> Rows:
    """Return URLs of a breadth-first crawl of the shop, each with its page number."""
    write, session = KINDS[kind]
    draw = random.Random(seed)
    seen, queue, rows = {"/"}, deque(["/"]), []
    while queue and len(rows) < n_urls:
        url = queue.popleft()
        page = session.sub("", url) or "/"
        rows.append((HOST + url, PAGES.index(page)))
        sid = f"{draw.getrandbits(96):024x}"
        for link in (write(link, sid) for link in links_of(page)):
            if link not in seen:
                seen.add(link)
                queue.append(link)
    return rows


def fitted_to(rows: Rows) -> Verified:
    """Return the model learnt from a crawl with these rows."""
    model = make_method("verified").fit([url for url, _ in rows], [page for _, page in rows])
    assert isinstance(model, Verified)
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_pages_under_new_sessions_get_one_form_each(tmp_path: Path, kind: str):
    """New sessions are dropped, and different pages stay different; also after saving."""
    model = fitted_to(crawled(kind, 500))
    new = crawled(kind, 800, seed=1)
    forms = {(model.canonicalize(url), page) for url, page in new[1:]}

    assert len(forms) == len({form for form, _ in forms}) == len(PAGES)
    loaded = load_model(model.save(tmp_path / "model"))
    assert [loaded.canonicalize(url) for url, _ in new] == [model.canonicalize(url) for url, _ in new]
    assert loaded.digest == model.digest


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("at the end", "drop path parameter `jsessionid` anywhere: 81 groups"),
        ("in the middle", "drop path parameter `jsessionid` anywhere: 81 groups"),
        ("in parentheses", "drop the path part in parentheses anywhere: 81 groups"),
        ("a segment", "ignore the value of path part 1 anywhere: 81 groups"),
    ],
)
def test_says_what_it_does(kind: str, sentence: str):
    """One rule is learnt for the whole shop, for any depth of a path, and it names the parameter."""
    model = fitted_to(crawled(kind, 500))

    assert [line.partition(",")[0] for line in model.learnt()] == [sentence]
    url = HOST + KINDS[kind][0]("/shop/3", "f00d")
    assert model.explain(url).reason.startswith(sentence)
    assert len(model.fired(url)) == 1
    assert without(model, model.fired(url)).canonicalize(url) == url


@pytest.fixture(scope="module", params=["at the end", "in parentheses"])
def model(request: pytest.FixtureRequest) -> Verified:
    """A fitted model, for laws."""
    return fitted_to(crawled(request.param, 500))


_parts = [
    "/shop",
    "/3",
    "/item",
    "/",
    ";jsessionid=a",
    ";jsessionid=0/b",
    ";v=1",
    "/(S(x))",
    "?",
    "&",
    ";;",
    "x=1",
    "=",
]


@given(st.lists(st.sampled_from(_parts), max_size=8).map("".join))
def test_a_form_is_its_own_form(model: Verified, rest: str):
    """For any place of the parameters, a form is a URL of the site and its own form, and the fired rules are known."""
    url = f"{HOST}/{rest.removeprefix('/')}"
    form = model.canonicalize(url)

    assert model.canonicalize(form) == form == normal_form(form)
    assert model.explain(url).form == form
    assert bool(model.fired(url)) == (form != normal_form(url))
    assert set(model.fired(url)) <= model.rule_sentences().keys()


@pytest.mark.parametrize("name", ["color", "v"])
def test_a_parameter_that_selects_the_page_stays(name: str):
    """``/item/3;color=red`` and ``/item/3;color=blue`` are two pages: nothing is merged, at either end of the path."""
    values = {"color": ["red", "blue", "green"], "v": ["1", "2", "3"]}[name]
    urls = [f"{HOST}/item/{n};{name}={value}" for n in range(100) for value in values]
    urls += [f"{HOST}/list;{name}={value}/{n}" for n in range(100) for value in values]
    urls += [f"{HOST}/item/{n}" for n in range(100)]
    random.Random(0).shuffle(urls)
    model = make_method("verified").fit(urls, range(len(urls)))

    assert [model.canonicalize(url) for url in urls] == urls


def test_a_session_is_dropped_beside_a_parameter_that_matters():
    """The version of ``;jsessionid=...;v=2`` stays, at its place."""
    draw = random.Random(0)
    rows = [
        (f"{HOST}/item/{n};jsessionid={draw.getrandbits(64):016x};v={v}", 2 * n + v)
        for n in range(60)
        for v in (1, 2)
        for _ in range(3)
    ]
    draw.shuffle(rows)
    model = make_method("verified").fit([url for url, _ in rows], [page for _, page in rows])

    assert model.canonicalize(f"{HOST}/item/7;jsessionid=f00d;v=2") == f"{HOST}/item/7;v=2"
    assert model.canonicalize(f"{HOST}/item/7;v=2") == f"{HOST}/item/7;v=2"
    unknown = f"{HOST}/item/7;jsessionid=f00d;w=2"
    assert model.canonicalize(unknown) == unknown


def test_other_programs_are_told_nothing_of_such_a_host():
    """Exports read paths literally: no rule about queries is exported for a host with sessions in its paths."""
    draw = random.Random(0)
    rows = [
        (f"{HOST}/item/{n}{session}?from={draw.randrange(40)}", n)
        for n in range(800)
        for session in ("", *(f";jsessionid={draw.getrandbits(64):016x}" for _ in range(3)))
        for _ in range(2)
    ]
    draw.shuffle(rows)
    export = to_discarder(fitted_to(list(dict(rows).items())).model_rules(), with_guards=False)

    assert (export.n_said, len(export.left_out)) == (0, 2)
    assert any("names in paths" in left.reason for left in export.left_out)


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
