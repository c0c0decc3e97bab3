"""Lists that fit on one page show the same entries in every order; whether a list does, its links tell."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from command_line import run as dedup
from dedup_crawler import load
from dedup_crawler.labels.main_text import links_of
from dedup_crawler.pages.records import Page
from dedup_crawler.urls import page_links
from dedup_crawler.urls.normal import normal_form
from dedup_crawler.urls.page_links import MAX_BYTES, MAX_LINKS, MAX_NAMES, MAX_SETS, LinkedOn, names_in, names_of_links
from faulty_site import SLOWLY, text
from live_site import Answer, Site, crawl_content, walk

if TYPE_CHECKING:
    from collections.abc import Sequence

ON_PAGE = 6
ORDERS = ("date", "title")
NAMES = {"": "as entered", "date": "newest first", "title": "by name"}
N_LEARNT, N_LISTS = 60, 200
Url = Callable[..., str]
"""Number of a list, order and page -> URL."""


def is_long(n: int) -> bool:
    """Return True for a third of the lists, which have two pages."""
    return random.Random(n).random() < 1 / 3


def entries(n: int) -> list[str]:
    """The entries of a list."""
    n_entries = 2 * ON_PAGE if is_long(n) else ON_PAGE - 1
    return [text(f"{n} {place}").partition("</p>")[0] + "</p>" for place in range(n_entries)]


def in_order(n: int, order: str) -> list[str]:
    found = entries(n)
    random.Random(f"{n} {order}").shuffle(found)
    return found


def in_query(n: int, order: str = "", page: int = 1) -> str:
    return f"/list?tag=t{n}" + f"&order={order}" * bool(order) + f"&page={page}" * (page > 1)


def in_path(n: int, order: str = "", page: int = 1) -> str:
    return f"/tag/t{n}/" + f"page/{page}/" * (page > 1) + f"?order={order}" * bool(order)


class Lists(Site):
    """Lists with links to sort them. The first ones are linked at /first, the others at the start page."""

    def __init__(self, url: Url) -> None:
        super().__init__()
        self.robots()
        self.list_url = url
        for n in range(N_LISTS):
            for order in ("", *ORDERS):
                found = in_order(n, order)
                pages = [found[start : start + ON_PAGE] for start in range(0, len(found), ON_PAGE)]
                for number, its in enumerate(pages, 1):
                    links = [f"<a href='{url(n, each)}'>{NAMES[each]}</a>" for each in ("", *ORDERS)]
                    more = range(2, len(pages) + 1)
                    links += [f"<a href='{url(n, order, other)}'>{other}</a>" for other in more]
                    shown = f"<title>List {n}</title><h1>List {n}</h1><p>{' '.join(links)}</p>{''.join(its)}"
                    self.answers[url(n, order, number)] = Answer(body=shown.encode())
        self.page("/first", *map(url, range(N_LEARNT)))
        self.page("/", *map(url, range(N_LEARNT, N_LISTS)))


def below(n: int, order: str = "", page: int = 1) -> str:
    return f"/tag/t{n}/" + f"{page}/" * (page > 1) + f"?order={order}" * bool(order)


PLACES = {in_query: "page", in_path: "/page/N", below: "./N"}
"""Where the number of a page stands -> name of the links to further pages."""


@pytest.fixture(scope="module", params=PLACES, ids=["page in the query", "page in the path", "page below the list"])
def crawled(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> tuple[Lists, Path]:
    """A crawl of the first lists and a model of it, and then a filtered crawl of the others."""
    folder = tmp_path_factory.mktemp("lists")
    with Lists(request.param) as site:
        crawl_content(f"{site.url}/first", folder / "lists.db")
        assert dedup("label", "--db", folder / "lists.db").exit_code == 0
        trained = dedup("train", "verified", "--db", folder / "lists.db", "--model", folder / "model")
        assert trained.exit_code == 0, trained.output
        site.asked.clear()
        walk(site, folder, DEDUP_MODEL=folder / "model", DEDUP_EXPLORATION="0.02", **SLOWLY)
    return site, folder / "model"


def test_the_sentence_names_what_tells_a_list_of_several_pages(crawled: tuple[Lists, Path]):
    """The name of further pages is learnt from the links."""
    site, model = crawled
    told = "\n".join(load(model).learnt())
    is_query = site.list_url is in_query
    link, page = ("/list?order=date&tag==", "/list?tag==") if is_query else ("/tag/=/?order=date", "/tag/=/")
    unless = f"unless it links URLs with `{PLACES[site.list_url]}`"
    assert f"a link to {link} on {page} leads back to that page ({unless})" in told


def test_short_lists_are_fetched_once_and_long_ones_in_every_order(crawled: tuple[Lists, Path]):
    """Only tests of the rules fetch a short list again; of a long one every page is fetched."""
    site, _ = crawled
    url = site.list_url
    numbers = range(N_LEARNT, N_LISTS)
    again = [url(n, order) for n in numbers for order in ORDERS if not is_long(n)]
    of_long = [url(n, order, page) for n in numbers for order in ("", *ORDERS) for page in (1, 2) if is_long(n)]
    assert min(map(site.count, map(url, numbers))) > 0
    assert sum(map(site.count, again)) < len(again) / 3
    assert min(map(site.count, of_long)) > 0


PAGE = "http://a.example/tag/b/"


@pytest.mark.parametrize(
    ("html", "names"),
    [
        ('<a href="/list?q=a&amp;page=2">2</a>', {"q", "amp", "page"}),
        ("<a href=page/2/>2</a> <a href='/tag:b/page%3A3?n'>3</a>", {"/page/N", "/page:N", "n"}),
        ('<base href="/tag/page/"><a href="2.html">2</a> <a href="/7">7</a>', {"/page/N"}),
        ("<A HREF = '?q=a;start%3Aint=10#end'>2</A>", {"q", "start:int"}),
        ("<a href=/list?tags%5B%5D=a&n>1</a><link rel=next href='?page=2'>", {"tags[]", "n", "page"}),
        ("<a href='2/?n'>2</a> <a href=/tag/c/3>3</a> <a href=2/edit>edit</a>", {"./N", "/b/N", "/c/N", "n"}),
        ('<a href="/">home</a>', set()),
    ],
)
def test_names_in_the_links_of_a_page(html: str, names: set[str]):
    """All spellings of a link; names as in normal URLs."""
    assert names_in(html.encode(), PAGE) == names


def test_pages_whose_links_cannot_be_read_are_not_known():
    """Of them no rule about short lists speaks."""
    link = b'<a href="/list?page=2">'
    assert names_in(b"", PAGE) is names_in(b"no link", PAGE) is names_in(link.decode().encode("utf-16"), PAGE) is None
    assert names_in(link + b" " * MAX_BYTES, PAGE) is None
    assert names_in(b"".join(b"<a href=?page=%d>" % n for n in range(MAX_LINKS + 1)), PAGE) is None
    assert names_in(b"".join(b"<a href=?%d=1>" % n for n in range(MAX_NAMES + 1)), PAGE) is None
    for hostile in (b"href=", b"<base ", b"<base href='", b"href   "):  # in linear time
        names_in(hostile * (MAX_BYTES // len(hostile)), PAGE)


CONTROL = re.compile(r"&#0*(?:[1-8]|1[1-9]|2\d|3[01])(?!\d)|&#x0*[12]?[0-9a-f](?![0-9a-f])", re.IGNORECASE)
texts = st.text("ab2?&;=:#%5B '\"<>/\\.", max_size=14)


@example(["page/2 #2"])
@given(st.lists(texts, max_size=3))
def test_no_name_of_a_link_is_missed(hrefs: Sequence[str]):
    """What a parser finds, the search in the text of the page finds as well: no long list is taken for a short one.

    But for references to control characters (``&#2``), which HTML forbids: libxml2 keeps them, and Python drops them.
    """
    assume(not any(map(CONTROL.search, hrefs)))
    quoted = (href.replace('"', "") for href in hrefs)
    html = "".join(f'<p><a href="{href}">x</a></p>' for href in quoted).encode()
    parsed = names_of_links(map(normal_form, links_of(Page(PAGE, content_type="text/html", content=html))), PAGE)
    assert parsed <= (names_in(html, PAGE) or frozenset())


def test_equal_names_are_kept_once(monkeypatch: pytest.MonkeyPatch):
    """Thousands of pages of one kind share one set; the oldest pages are forgotten."""
    monkeypatch.setattr(page_links, "MAX_KNOWN", 3 * MAX_SETS)
    known = LinkedOn()
    for n in range(3 * MAX_SETS + 1):
        known.note_names(f"http://a.example/{n}", frozenset(["page", "sort"]))
        known.note_names(f"http://a.example/{n}/", frozenset([str(n)]))
    assert known.names(f"http://a.example/{3 * MAX_SETS}") == {"page", "sort"}
    assert known.names("http://a.example/0") is None
