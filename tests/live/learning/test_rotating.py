"""Rotating text: a random quote on every page makes each fetch another text, and it is still the same page."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_self_driving import LEARN_AFTER, N_TOPICS, PatientSite, build, walk_and_learn

from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.evidence.site_text import SiteText
from dedup_crawler.evidence.two_fetches import GrowingText
from dedup_crawler.json_values import JsonValue
from dedup_crawler.labels.clusters import cluster_labelled
from dedup_crawler.live.collecting.response_page import FetchedPage
from dedup_crawler.live.exploration.reloads import FIRST_PAGE
from dedup_crawler.live.exploration.same_page import read, same_page
from dedup_crawler.methods import make_method
from dedup_crawler.methods.model.training_data import TrainingData
from dedup_crawler.pages.records import LabelledPage, Page, PageText, ReloadedText
from dedup_crawler.pages.rotating import STEADY, Place, RotatingText
from dedup_crawler.pages.store import PageStore
from live_site import Answer, Site, crawl_content
from site_of_pages import blog, page, words

Draw = Callable[[random.Random], list[str]]


def quote(draw: random.Random) -> list[str]:
    """One line of eight words, another with each fetch."""
    return [words(8, draw.random())]


def random_links(draw: random.Random) -> list[str]:
    """A heading, and one to six titles of other articles."""
    return ["Read more", *(words(3, draw.randrange(40)) for _ in range(draw.randrange(1, 7)))]


def shown(each: LabelledPage, text: Draw, fetch: int = 0) -> LabelledPage:
    """A page with rotating text before the last line of the site, which is its footer."""
    *lines, footer = each.main_text.split("\n")
    return replace(each, main_text="\n".join([*lines, *text(random.Random(f"{each.url} {fetch}")), footer]))


def reloads(pages: list[LabelledPage], text: Draw) -> list[ReloadedText]:
    return [ReloadedText(each.url, *(shown(each, text, fetch).main_text for fetch in (0, 1))) for each in pages]


@pytest.mark.parametrize(("text", "kept"), [(quote, []), (random_links, ["Read more"])], ids=["quote", "links"])
def test_what_two_fetches_show_in_one_place_is_left_out(text: Draw, kept: list[str]):
    """It is left out of pages that were fetched once too, however long it is; the heading and the article stay."""
    pages, _ = blog()
    rotating = RotatingText.of(reloads(pages[:20], text))
    for each in pages[20:]:
        *lines, footer = each.main_text.split("\n")
        assert rotating.without(shown(each, text)).main_text.split("\n") == [*lines, *kept, footer]
        assert rotating.without(each) == each or text is quote


def test_one_page_or_two_show_nothing():
    """A page may change between two fetches: a place has to rotate on three pages."""
    pages, _ = blog()
    assert RotatingText.of(reloads(pages[:2], quote)) == STEADY
    assert RotatingText.of(reloads(pages[:20], lambda draw: [])) == STEADY


def test_a_comment_that_comes_meanwhile_is_no_rotating_text():
    """A line that is new on four pages of twenty stands in a list that the other pages show unchanged."""
    pages, _ = blog()
    changes = reloads(pages[:4], lambda draw: ["Comments", "I like this", *quote(draw)])
    steady = reloads(pages[4:20], lambda draw: ["Comments", "I like this"])
    assert RotatingText.of([*changes, *steady]) == STEADY


def test_a_long_list_between_the_same_lines_stays():
    """The archive has the same heading and footer, and 60 titles of its own between them."""
    pages, _ = blog()
    rotating = RotatingText.of(reloads(pages[:20], random_links))
    archive = page("/archive", "Archive", "Read more", *(words(3, n) for n in range(60)))
    assert rotating.without(archive) == archive


texts = st.lists(st.sampled_from(["", "a", "b", "c", "\td", "e"]), max_size=8).map("\n".join)


@given(st.lists(st.builds(ReloadedText, st.just("https://a.example/"), texts, texts), max_size=8), texts)
def test_any_text_loses_at_most_whole_lines(fetched: list[ReloadedText], text: str):
    """The other lines stay in their order, and pages that never change lose nothing."""
    left = RotatingText.of(fetched).without(page("/", "")).main_text
    assert left == ""
    after = iter(text.split("\n"))
    kept = RotatingText.of(fetched).without(replace(page("/", "t", "x"), main_text=text)).main_text
    assert all(line in after for line in kept.split("\n")) or kept == ""
    assert RotatingText.of([replace(each, second=each.first) for each in fetched]) == STEADY


def test_a_site_with_random_links_teaches_as_much_as_one_without():
    """The reply forms of a blog are learnt to be its articles; without the second fetches nothing is learnt."""
    pages, _ = blog()
    changed = [shown(each, random_links) for each in pages]

    def forms(some: list[LabelledPage], rotating: RotatingText = STEADY) -> list[str]:
        some = [*map(rotating.without, some)]
        data = TrainingData.of_pages(some, cluster_labelled(some), PageEvidence.of_pages(some, rotating))
        method = make_method("verified").fit(*data)
        return method.canonicalize_many(data.urls)

    assert len({*forms(pages)}) == len(pages) // 2
    assert len({*forms(changed)}) == len(pages)
    assert forms(changed, RotatingText.of(reloads(pages[:20], random_links))) == forms(pages)


def test_a_crawl_compares_pages_without_their_rotating_text():
    """Two fetches of one article are the same; two articles are not, though their lists may be equal."""
    pages, _ = blog()
    rotating = RotatingText.of(reloads(pages[:20], random_links))
    growing = GrowingText()
    for each in pages:
        growing.see(each)

    def html(each: LabelledPage, fetch: int) -> FetchedPage:
        lines = "".join(f"<p>{line}</p>" for line in shown(each, random_links, fetch).main_text.split("\n"))
        body = f"<html><head><title>{each.title}</title></head><body>{lines}</body></html>"
        return FetchedPage.of(each.url, each.url, "text/html", body.encode())

    one, again, other = html(pages[40], 0), html(pages[40], 1), html(pages[42], 0)
    assert read(one) is not None
    assert same_page(one, again, growing.text()) is not True
    site = growing.text().with_rotating(rotating)
    assert same_page(one, again, site) is True
    assert same_page(one, other, site) is False


def test_a_model_knows_the_places():
    """They are written to its site text, and read from it."""
    place = Place(2**64 - 1, 0, 3)
    text = GrowingText().text().with_rotating(RotatingText(frozenset([place])))
    assert SiteText.from_json(JsonValue(text.to_json(), "site_text.json")).rotating.places == {place}


def test_the_database_keeps_both_texts_and_leaves_the_places_out(tmp_path: Path):
    """An earlier database has no table for them, and gets it."""
    pages, _ = blog(20)
    db = tmp_path / "crawl.db"
    with PageStore(db) as store:
        store.add_many(Page(each.url, content=b"x") for each in pages)
        store.write_texts(PageText(each.url, each.title, None, shown(each, quote).main_text, None) for each in pages)
    with sqlite3.connect(db) as connection:
        connection.execute("DROP TABLE reloads")
    with PageStore(db) as store:
        for reload in reloads(pages[:12], quote):
            store.add_reload(reload)
    with PageStore(db) as store:
        assert [each.main_text for each in store.labelled_pages()] == [each.main_text for each in pages]


class QuotingSite(PatientSite):
    """Shows another quote with every answer."""

    draw = random.Random(0)

    def lookup(self, path: str) -> Answer | list[Answer]:
        """Add a quote to each page."""
        answer = super().lookup(path)
        assert isinstance(answer, Answer)
        quoted = f"<p>{words(12, self.draw.random())}</p></body>".encode()
        return replace(answer, body=answer.body.replace(b"</body>", quoted))


def test_a_crawl_learns_from_a_site_with_a_quote_on_every_page(tmp_path: Path):
    """It fetches a few pages twice, says so, and drops sessions; no topic is lost, and no rule is refuted."""
    with QuotingSite(LEARN_AFTER + 40, tmp_path / "crawl.models") as site:
        build(site)
        crawl = walk_and_learn(site, tmp_path, DEDUP_EXPLORATION="0.1")
        asked = list(site.asked)
    assert crawl.status == 0
    assert crawl.lines("ERROR") == crawl.lines("WARNING") == []
    assert "show another text with every fetch" in crawl.log
    assert {path.partition("&")[0] for path in asked if "/topic" in path} == {f"/topic?id={n}" for n in range(N_TOPICS)}
    assert crawl.stats["dedup/request/reloaded"] == sum(asked.count(path) - 1 for path in {*asked})
    assert crawl.stats["dedup/request/dropped"] > N_TOPICS // 8
    assert crawl.stats["dedup/explored/agree"] > 0
    assert crawl.stats.get("dedup/explored/disagree", 0) == 0


def test_a_collecting_crawl_stores_second_fetches(tmp_path: Path):
    """They are more seldom the more pages a site has; a second fetch that fails is no trouble."""
    db = tmp_path / "crawl.db"
    with Site() as site:
        site.robots()
        site.page("/", *(f"/{n}" for n in range(99)))
        for n in range(99):
            site.page(f"/{n}", html=f"<p>{words(20, n)}</p>")
            again = Answer(500 if n % 2 else 200, body=b"<title>t</title><p>another text</p>")
            site.answers[f"/{n}"] = [site.answers[f"/{n}"], again]  # type: ignore[list-item]
        crawl = crawl_content(site.url, db)
        n_twice = sum(site.count(f"/{n}") == 2 for n in range(99))
    assert crawl.status == 0
    assert n_twice == sum(FIRST_PAGE * 1.25**n <= 100 for n in range(1, 20)) == 8
    with PageStore(db) as store:
        assert len(store) == 100
    with sqlite3.connect(db) as connection:
        second = connection.execute("SELECT second_text FROM reloads").fetchall()
    assert second
    assert {*second} == {("another text",)}


def test_a_steady_site_gets_fewer_second_fetches(tmp_path: Path):
    """If the first eight show the same text again, the next ones wait until the number of pages has doubled."""
    with Site() as site:
        site.robots()
        site.page("/", *(f"/{n}" for n in range(250)))
        for n in range(250):
            site.page(f"/{n}", html=f"<p>{words(20, n)}</p>")
        crawl = crawl_content(site.url, tmp_path / "crawl.db")
        n_twice = sum(site.count(f"/{n}") == 2 for n in range(250))
    assert crawl.status == 0
    assert 8 < n_twice < sum(FIRST_PAGE * 1.25**n <= 251 for n in range(1, 20))
