"""Kinds of URLs that mostly repeat pages or are new: a crawl that learns fetches them last."""

from __future__ import annotations

import json
import random
import signal
from collections import Counter
from math import isqrt
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.json_values import read_json_file
from dedup_crawler.live.requests.question import SAMPLED
from dedup_crawler.methods import load_model, make_method
from dedup_crawler.rules.language.site_rules import HostLinks
from dedup_crawler.rules.learning.belief import UNKNOWN
from dedup_crawler.rules.learning.host_crawl import MAX_ALONE, MIN_REPEATING, repeating_kinds
from faulty_site import status
from killing import stop_after
from live_site import Answer, Crawl, Site, walk

if TYPE_CHECKING:
    from pathlib import Path

N_ITEMS = 40
ITEMS = [f"/item/{n}" for n in range(N_ITEMS)]
CODES = [f"/go/{random.Random(n).getrandbits(40):010x}" for n in range(N_ITEMS)]
LEARNS = {"DEDUP_LEARN_AFTER": 10_000, "CONCURRENT_REQUESTS": "1"}


def model_of(folder: Path, host: str) -> Path:
    """A model that has seen nine links `/go/CODE`, each with the page of an item: too few for a rule."""
    urls = [f"http://{host}{path}" for path in ("/", *ITEMS, *CODES[:9])]
    model = make_method("verified").fit(
        urls, [0, *range(1, N_ITEMS + 1), *range(1, 10)], [None, *[urls[0]] * (len(urls) - 1)]
    )
    assert model.n_learnt() == 0
    return folder / model.save(folder / "model")


def build(site: Site) -> None:
    """The start page links the codes first, then the items."""
    site.page("/", *CODES, *ITEMS)
    for item, code in zip(ITEMS, CODES, strict=True):
        for path in (item, code):
            site.page(path, html=f"<p>{item}</p>")


def crawled(tmp_path: Path, **settings: Any) -> tuple[list[str], Crawl]:
    """Crawl the site; return the asked paths of items and codes, in order."""
    with Site() as site:
        build(site)
        model = model_of(tmp_path, site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_COLLECT=tmp_path / "pages.db", **settings)
        asked = [path for path in dict.fromkeys(site.asked) if path in {*ITEMS, *CODES}]  # some are fetched twice
    assert crawl.status == 0
    assert crawl.lines("ERROR") == []
    assert sorted(asked) == sorted([*ITEMS, *CODES])
    return asked, crawl


def test_a_crawl_that_learns_fetches_repeating_kinds_last(tmp_path: Path):
    """A sample of the codes is fetched in its turn; the others come after all items. Nothing is dropped."""
    asked, crawl = crawled(tmp_path, **LEARNS)
    sample = {isqrt(SAMPLED * n) for n in range(1, N_ITEMS + 1)}
    last_item = max(asked.index(item) for item in ITEMS)
    assert len(asked[last_item + 1 :]) == crawl.stats["dedup/request/late"] == N_ITEMS - len(sample)
    assert "dedup/request/dropped" not in crawl.stats
    assert crawl.log.count("URLs like /go/* on 127.0.0.1:") == 1
    assert all(status(crawl, path) == 200 for path in asked)


@pytest.mark.parametrize("settings", [{"CONCURRENT_REQUESTS": "1"}, {**LEARNS, "DEDUP_DRY_RUN": "True"}])
def test_other_crawls_keep_their_order(tmp_path: Path, settings: dict[str, Any]):
    """A crawl that does not learn gains nothing by waiting, and a dry run changes nothing."""
    asked, crawl = crawled(tmp_path, **settings)
    assert asked == [*CODES, *ITEMS]
    assert "dedup/request/late" not in crawl.stats


def test_a_late_link_that_fails_is_tried_again(tmp_path: Path):
    """The retry does not wait a second time, and its answer reaches the spider."""
    with Site() as site:
        build(site)
        for code in CODES:
            site.answers[code] = [Answer(503), site.answers[code]]
        model = model_of(tmp_path, site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_COLLECT=tmp_path / "pages.db", **LEARNS)
    assert all(site.count(code) >= 2 and status(crawl, code) == 200 for code in CODES)


def test_late_links_wait_for_a_model_that_is_due(tmp_path: Path):
    """The crawl learns after 55 pages, when only late links are left: the first of them is fetched after that."""
    with Site() as site:
        build(site)
        model = model_of(tmp_path, site.host)
        settings = {**LEARNS, "DEDUP_LEARN_AFTER": 55, "LOG_LEVEL": "DEBUG"}
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_COLLECT=tmp_path / "pages.db", **settings)
        assert set(site.asked) >= set(ITEMS)
    lines = crawl.log.splitlines()
    learnt = next(n for n, line in enumerate(lines) if "Learnt from the crawl so far" in line)
    fetched = [n for n, line in enumerate(lines) if "Crawled (200)" in line]
    assert 55 <= sum(n < learnt for n in fetched) < 1 + N_ITEMS + N_ITEMS
    assert "/go/" in lines[fetched[-1]] or all(n < learnt for n in fetched)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("n_before", [8, 30, 60])
def test_late_links_survive_a_stop(tmp_path: Path, n_before: int, how: signal.Signals):
    """Stopped or killed while they wait, or while they are fetched: the next process fetches all missing pages."""
    with Site() as site:
        build(site)
        site.delay_s = 0.01
        model = model_of(tmp_path, site.host)
        settings = {**LEARNS, "DEDUP_MODEL": model, "JOBDIR": tmp_path / "job"}
        stop_after(site, tmp_path, n_before, how, **settings)
        crawl = walk(site, tmp_path, **settings)
        assert crawl.status == 0
        assert set(site.asked) >= {*ITEMS, *CODES}


def test_shapes_are_kept_with_the_model(tmp_path: Path):
    """They are in `links.json`. Those of older models may have none; then no URL waits."""
    folder = model_of(tmp_path, "a.example")
    code, item, new = (f"http://a.example{path}" for path in (CODES[0], ITEMS[0], "/item/1?print=1"))
    model = load_model(folder)
    late = [*map(model.late_kind, (code, item, new))]
    assert [each and each.repeats for each in late] == [True, None, False]

    file = folder / "links.json"
    table = read_json_file(file, 10**6)["a.example"]
    assert [each["path[0]"].text() for each in table["repeating"].values()] == ["go"]
    older = json.loads(file.read_text("utf-8"))["a.example"]
    del older["repeating"], older["known"]
    (tmp_path / "older.json").write_text(json.dumps(older), "utf-8")
    links = HostLinks.from_json(read_json_file(tmp_path / "older.json", 10**6))
    assert [*map(links.late_kind, (code, item, new))] == [None, None, None]


def test_kinds_that_the_model_does_not_know_wait(tmp_path: Path):
    """
    Links to print an item are linked first, and the model has seen none. Eighteen are fetched in their turn and the
    others last, without a line in the log. With a model that has seen five of them, each with a text of its own, all
    come in their turn.
    """
    prints = [f"{item}?print=1" for item in ITEMS]
    for n_known, n_late in ((0, N_ITEMS - len({isqrt(SAMPLED * n) for n in range(1, N_ITEMS + 1)})), (5, 0)):
        folder = tmp_path / str(n_known)
        with Site() as site:
            site.page("/", *prints, *ITEMS)
            for path in (*ITEMS, *prints):
                site.page(path, html=f"<p>{path}</p>")
            urls = [f"http://{site.host}{path}" for path in ("/", *ITEMS, *prints[:n_known])]
            model = folder / make_method("verified").fit(urls, [*range(len(urls))]).save(folder / "model")
            crawl = walk(site, folder, DEDUP_MODEL=model, DEDUP_COLLECT=folder / "pages.db", **LEARNS)
            asked = [path for path in dict.fromkeys(site.asked) if path in {*ITEMS, *prints}]
        assert sorted(asked) == sorted([*ITEMS, *prints])
        assert crawl.stats.get("dedup/request/late", 0) == n_late
        assert {*asked[len(asked) - n_late :]} <= {*prints}
        assert "fetched last" not in crawl.log


KINDS = st.sampled_from([(), *((("path[0]", name),) for name in ("item", "go", "print", "list"))])


@given(st.lists(st.tuples(KINDS, st.sampled_from([UNKNOWN, *range(12)]), st.booleans())))
def test_few_pages_are_shown_by_repeating_kinds_alone(visits):
    """Whatever the crawl: at most a third of the URLs of repeating kinds show a page that no other kind shows."""
    kinds, pages, redirects = zip(*visits, strict=True) if visits else ((), (), ())
    found = repeating_kinds(kinds, pages, redirects)

    others = {page for kind, page, _ in visits if kind not in found}
    alone = {page for kind, page, _ in visits if kind in found} - others - {UNKNOWN}
    n_urls = Counter(kind for kind, page, _ in visits if page != UNKNOWN)
    assert len(alone) <= MAX_ALONE * sum(n_urls[kind] for kind in found)
    assert all(kind and n_urls[kind] >= MIN_REPEATING for kind in found)


def test_one_kind_of_two_that_show_the_same_pages_repeats():
    """The pages are needed once: at the targets of redirects, or else at the kind with fewer URLs to fetch."""
    item, go = (("path[0]", "item"),), (("path[0]", "go"),)
    kinds, pages = [item] * 8 + [go] * 9, [*range(8), *range(8), 0]
    assert repeating_kinds(kinds, pages, [False] * 17) == {go}
    assert repeating_kinds(kinds, pages, [True] * 8 + [False] * 9) == {item}


def test_query_names_are_a_kind_in_all_sections():
    """Orders of the lists of one section repeat its pages, so those of a new section wait as well."""
    lists = [f"http://a.example/{name}" for name in ("ants", "bees", "cats", "dogs", "elks", "foxes")]
    orders = [f"{place}?order={way}" for place in lists for way in ("up", "down")]
    model = make_method("verified").fit([*lists, *orders[:6]], [*range(6), *(n // 2 for n in range(6))])

    def repeats(url: str) -> bool:
        late = model.late_kind(url)
        return late is not None and late.repeats

    assert all(map(repeats, orders[6:]))
    assert not any(map(repeats, [*lists, f"{lists[5]}?page=2", f"{lists[5]}?order=up&page=2"]))
