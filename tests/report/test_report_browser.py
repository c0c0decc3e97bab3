"""The report of a real crawl in a real browser: no complaints, no requests, and it fits a phone."""

import json
from itertools import pairwise

import pytest

from chromium import opened, require_chromium
from command_line import run
from dedup_crawler.report.page import SECTIONS
from live_site import Site, crawl_content

N_TOPICS = 60
TITLE = "Topic {} </script><script>window.hit=1;alert(1)</script><img src=x onerror=alert(2)>\u202egnp"
LONG = "a-very-long-word-without-any-space-" * 12


def words(n):
    return " ".join(f"word{n}x{i}" for i in range(60))


@pytest.fixture(scope="module")
def site():
    """A forum whose topics also have URLs with session ids, with hostile titles and links."""
    require_chromium()
    with Site() as running:
        running.page("/", "/list?page=1", "/list?page=2", "/list?page=3", html=f"<p>{words('start')}</p>")
        for page in range(3):
            topics = [t for t in range(N_TOPICS) if t % 3 == page]
            links = [
                f"/topic?t={t}{sid}" for t in topics for sid in ("", f"&amp;sid={t * 7919:08x}", f"&amp;sid={t:08x}")
            ]
            links += [f"/{LONG}/{page}", "/x%22%3E%3Cscript%3Ealert(3)%3C/script%3E", "javascript:alert(4)"]
            running.page(f"/list?page={page + 1}", *links, html=f"<p>{words(f'list{page}')}</p>")
        title = TITLE.replace("<", "&lt;").replace(">", "&gt;")
        for t in range(N_TOPICS):
            for sid in ("", f"&sid={t * 7919:08x}", f"&sid={t:08x}"):
                running.page(f"/topic?t={t}{sid}", html=f"<title>{title.format(t)}</title><p>{words(t)}</p>")
                answer = running.answers[f"/topic?t={t}{sid}"]
                path = f"/topic?t={t}{sid}".encode()
                answer.body = answer.body.replace(b"<title>" + path + b"</title>", b"").replace(path, b"")
        yield running


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def report(site, tmp_path_factory):
    """Crawl, label, train, compare, crawl again with the filter, report: the user's commands."""
    folder = tmp_path_factory.mktemp("crawl")
    database, model = folder / "crawl.db", folder / "model"
    assert crawl_content(f"{site.url}/", database).status == 0
    done("label", "--db", database)
    done("train", "verified", "--db", database, "--model", model)
    done("train", "random-forest", "--db", database, "--model", folder / "forest")
    comparison = done("evaluate", "--db", database, "--method", "keep-all", "--method", "verified", "--json")
    (folder / "comparison.json").write_text(comparison)
    settings = {"DEDUP_MODEL": model, "DEDUP_DROPPED": folder / "drops.jsonl"}
    assert crawl_content(f"{site.url}/", folder / "filtered.db", **settings).status == 0
    given = ("--db", database, "--model", model, "--model", folder / "forest", "--dropped", folder / "drops.jsonl")
    done("report", *given, "--comparison", folder / "comparison.json", "--output", folder / "report.html")
    return folder / "report.html"


def test_the_crawl_was_worth_reporting_on(report):
    """The report shows repeated topics, a rule for them, and drops of a live crawl."""
    drops = [json.loads(line) for line in (report.parent / "drops.jsonl").read_text().splitlines()]

    assert len(drops) > N_TOPICS
    assert all("sid=" in drop["url"] or drop["rules"] for drop in drops)


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_it_opens_without_a_complaint_and_fits_the_window(browser, report, width):
    """Each section is visible; no console line, no request except for the file; nothing is wider than the window."""
    with opened(browser, report, width=width) as shown:
        page = shown.page
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        for id_, _ in SECTIONS:
            assert page.locator(f"section#{id_} > h2").is_visible(), id_
            assert "fills this" not in page.locator(f"section#{id_}").inner_text(), id_
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        wide = page.evaluate(
            """() => [...document.querySelectorAll('body *')]
                .filter(each => each.getBoundingClientRect().right > window.innerWidth + 1)
                .map(each => each.outerHTML.slice(0, 200))"""
        )
        assert wide == []
        figures = page.evaluate("[...document.images].map(each => [each.complete, each.naturalWidth > 100])")
        assert len(figures) >= 4
        assert all(complete and drawn for complete, drawn in figures)
        assert shown.requests == [report.as_uri()]
        assert shown.complaints == []


def test_nothing_of_a_stranger_runs(browser, report):
    """The titles of the site are scripts; they appear as text, and links lead only to web pages."""
    with opened(browser, report) as shown:
        page = shown.page

        assert page.evaluate("window.hit") is None
        assert page.evaluate("document.scripts.length") == 0
        assert "</script><script>window.hit=1;alert(1)</script>" in page.locator("section#site").inner_text()
        assert "\\u202egnp" in page.locator("section#site").inner_text()
        protocols = page.evaluate("[...new Set([...document.links].map(each => each.protocol))].sort()")
        assert protocols == ["file:", "http:"]  # the table of contents, and pages of the site
        shown.page.keyboard.press("Tab")
        assert shown.complaints == []


def test_a_script_that_got_in_would_not_run(browser, report, site, tmp_path):
    """The policy of the page is a second protection: the browser refuses injected scripts."""
    broken = tmp_path / "broken.html"
    added = f"<script>window.hit=1</script><img src={site.url}/hit onerror='window.hit=2'><p style='color:red'>x</p>"
    broken.write_text(report.read_text().replace("</main>", f"{added}</main>"))
    with opened(browser, broken) as shown:
        assert shown.page.evaluate("window.hit") is None
        assert site.count("/hit") == 0
        assert len(shown.complaints) >= 3  # the other tests would notice these complaints


def test_it_is_found_by_its_contents(browser, report):
    """The links of the table of contents lead to their sections, also without a mouse."""
    with opened(browser, report, width=360) as shown:
        for id_, title in SECTIONS:
            shown.page.get_by_role("link", name=title, exact=True).press("Enter")
            top = shown.page.locator(f"section#{id_}").bounding_box()["y"]
            assert top < 900, id_
        assert shown.complaints == []


def test_a_printed_report_holds_what_was_folded(browser, report):
    """Print shows folded examples and refused rules, but not the table of contents."""
    with opened(browser, report) as shown:
        page = shown.page
        examples = page.locator("section#rules details:not([open]) li").first
        assert not examples.is_visible()
        page.emulate_media(media="print")

        assert examples.is_visible()
        assert not page.locator("nav").is_visible()
        assert page.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth")
        assert len(page.pdf()) > 20_000


def test_who_cannot_see_is_told(browser, report):
    """Every figure has an alternative text, every cell on a phone its label, and headings are in order."""
    with opened(browser, report, width=360) as shown:
        page = shown.page
        assert page.evaluate("[...document.images].every(each => each.alt.length > 30)")
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(each => +each.tagName[1])")
        assert levels[0] == 1
        assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
        assert page.evaluate("document.documentElement.lang") == "en"
