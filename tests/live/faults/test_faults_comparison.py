"""A live crawl compares pages as training does: over real HTTP, with the model's site text."""

from __future__ import annotations

from pathlib import Path

import pytest

from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.labels.main_text import clean_page
from dedup_crawler.methods import make_method
from dedup_crawler.pages.records import LabelledPage, Page
from faulty_site import text
from live_site import Crawl, Site, walk
from site_of_pages import words

N_LEARNT, N_NEW = 40, 60


def html(n: int, *more: str) -> str:
    """Return an article with the lines of its form."""
    said = "".join(f"<p>{each}</p>" for each in more)
    return f"<html><title>Article {words(3, n)}</title><body>{text(f'article {n}')}{said}</body></html>"


def pages_of(n: int) -> dict[str, str]:
    """Return the article, and the same with a reply form that has a unique name."""
    return {f"/article/{n}": html(n), f"/article/{n}?reply={n}": html(n, f"Leave a reply to {words(1, f'name {n}')}")}


def learnt(folder: Path, host: str) -> Path:
    """Return a model of the first articles and their forms, learnt from the pages."""
    shown = {path: html for n in range(N_LEARNT) for path, html in pages_of(n).items()}
    texts = [
        clean_page(Page(f"http://{host}{path}", content_type="text/html", content=html.encode()))[0]
        for path, html in shown.items()
    ]
    pages = [LabelledPage(each.url, None, 200, None, each.title, each.main_text, None, None) for each in texts]
    urls = [page.url for page in pages]
    model = make_method("verified").fit(urls, range(len(urls)), evidence=PageEvidence.of_pages(pages))
    assert model.canonicalize(f"{urls[0]}?reply=99") == urls[0]
    return Path(model.save(folder))


def crawl_of(folder: Path, *, is_wrong: bool) -> tuple[Crawl, list[str]]:
    """A crawl of new articles and their forms; if the rule *is_wrong*, the forms show other articles."""
    with Site() as site:
        site.robots()
        links = []
        for n in range(N_LEARNT, N_LEARNT + N_NEW):
            for path, shown in pages_of(n).items():
                links.append(path)
                body = html(n + 1000) if is_wrong and "?" in path else shown
                site.answers[path] = site.lookup("/nothing")
                site.page(path)
                site.answers[path].body = body.encode()
        for hub in range(0, N_NEW, 10):
            onward = [f"/hub{hub + 10}"] if hub + 10 < N_NEW else []
            site.page(f"/hub{hub}" if hub else "/", *links[2 * hub : 2 * hub + 20], *onward, html=text(f"hub {hub}"))
        model = learnt(folder / "model", site.host)
        crawl = walk(site, folder, DEDUP_MODEL=model, DEDUP_EXPLORATION="0.3")
        return crawl, [link for link in links if link not in site.asked]


def test_what_a_rule_always_changes_does_not_speak_against_it(tmp_path: Path):
    """Every form has a line with a unique name: each exploration agrees, and the rest is dropped."""
    crawl, dropped = crawl_of(tmp_path, is_wrong=False)
    assert crawl.stats["dedup/explored/agree"] == crawl.stats["dedup/request/explored"]
    assert "dedup/rules/switched_off" not in crawl.stats
    assert len(dropped) > N_NEW // 3
    assert all("?reply=" in path for path in dropped)


def test_another_article_does(tmp_path: Path):
    """The rule is switched off, and every page reaches the spider."""
    crawl, dropped = crawl_of(tmp_path, is_wrong=True)
    assert crawl.stats["dedup/rules/switched_off"] == 1
    assert dropped == []


@pytest.mark.parametrize("damage", ["<html>", "", "\x00\x01" * 100, "<p>" * 50_000, "<html><body>" + "a b " * 300_000])
def test_a_page_that_cannot_be_read_does_not_end_the_crawl(tmp_path: Path, damage: str):
    """For any answer of a form, the crawl goes on, and the articles are fetched."""
    with Site() as site:
        site.robots()
        links = [path for n in range(N_LEARNT, N_LEARNT + 12) for path in pages_of(n)]
        site.page("/", *links, html=text("start"))
        for n in range(N_LEARNT, N_LEARNT + 12):
            site.page(f"/article/{n}", html=text(f"article {n}"))
            site.page(f"/article/{n}?reply={n}", html=damage)
        model = learnt(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION="1")
        asked = set(site.asked)
    assert crawl.status == 0
    assert crawl.lines("ERROR") == []
    assert asked >= set(links)
