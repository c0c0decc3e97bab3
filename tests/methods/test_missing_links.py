"""Permalinks that the page they were taken for does not hold, in a crawl over real HTTP.

The page of a question holds the permalinks of the answers that it shows. Later answers stand on its second page, and
their permalinks, which only the pages of their authors hold, show that one.
"""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.methods import make_method
from dedup_crawler.urls import page_links
from dedup_crawler.urls.page_links import LinkedOn
from faulty_site import SLOWLY, text
from live_site import Site, walk

N_QUESTIONS, N_SHOWN, N_LATER = 40, 3, 4


def question(n: int) -> str:
    return f"/question/{n}"


def answer(n: int, m: int) -> str:
    return f"{question(n)}?answer={100 * n + m}"


def model_of(folder: Path, host: str) -> Path:
    """A model that has seen no second page: `answer` does not matter, and such a link leads back to its question."""
    home = f"http://{host}"
    urls, pages, referrers = [f"{home}/"], [0], [None]
    for n in range(1_000, 1_120):
        urls += [home + question(n), *[home + answer(n, m) for m in range(3)]]
        pages += [n] * 4
        referrers += [f"{home}/", *[home + question(n)] * 3]
    model = make_method("verified").fit(urls, pages, referrers)
    assert model.canonicalize(home + answer(7, 1)) == home + question(7)
    assert model.leads_back_to(home + answer(7, 1), [home + question(7)])
    return Path(model.save(folder))


def build(site: Site, *, has_authors_first: bool) -> None:
    """Authors hold all permalinks; the first questions have a later answer, which has a page of its own."""
    questions, authors = [question(n) for n in range(N_QUESTIONS)], [f"/author/{m}" for m in range(N_SHOWN + 1)]
    site.page("/", *(authors + questions if has_authors_first else questions + authors))
    for m, author in enumerate(authors):
        its = range(N_QUESTIONS if m < N_SHOWN else N_LATER)
        site.page(author, *[link for n in its for link in (question(n), answer(n, m))], html=text(author))
    for n in range(N_QUESTIONS):
        shown = [answer(n, m) for m in range(N_SHOWN)]
        for path in (question(n), *shown):
            site.page(path, *shown, html=text(question(n)))
        site.page(answer(n, N_SHOWN), answer(n, N_SHOWN), html=text(answer(n, N_SHOWN)))


@pytest.mark.parametrize("has_authors_first", [False, True])
def test_a_permalink_that_is_missing_on_its_page_is_fetched(tmp_path: Path, has_authors_first: bool):
    """Without any test of the rule, all later answers are fetched, and hardly any other one."""
    with Site() as site:
        build(site, has_authors_first=has_authors_first)
        model = model_of(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION="0", **SLOWLY)
        asked = {path for path in site.asked if "answer" in path}
    assert crawl.lines("ERROR") == []
    later = {answer(n, N_SHOWN) for n in range(N_LATER)}
    assert later <= asked
    assert len(asked - later) <= 4  # those whose author was fetched before anything else
    assert crawl.stats["dedup/request/dropped"] >= N_QUESTIONS * N_SHOWN - 4


PAGES, LINKS = st.sampled_from("ABCDE"), st.sampled_from("abcdefgh")


@given(st.lists(st.tuples(PAGES, st.lists(LINKS)), max_size=30))
def test_a_page_lacks_a_link_only_if_it_was_never_seen_there(seen):
    """Whatever was forgotten: no page lacks a link that it held. (The pages are as many as are known at once.)"""
    known = LinkedOn()
    held: set[tuple[str, str]] = set()
    with patch.object(page_links, "MAX_KNOWN", 5):
        for page, links in seen:
            known.saw(links, page)
            held |= {(page, link) for link in links}
    assert not any(known.lacks(page, link) for page, link in held)


def test_pages_whose_links_are_not_known_lack_nothing():
    known = LinkedOn()
    known.saw(["/a"], "/")
    assert known.lacks("/", "/b")
    assert not known.lacks("/", "/a")
    assert not known.lacks("/other", "/b")
