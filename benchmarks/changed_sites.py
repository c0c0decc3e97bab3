"""Savings of ``verified`` on recorded sites that were changed in a way that many sites of the web have.

    python benchmarks/changed_sites.py ../shared/corpora/sites build/results [SITE...]

The change concerns all pages, and neither URLs nor links: what a method should save stays the same. A cell has the
share of avoidable fetches that is saved, and the number of needed pages that are lost.
"""

from __future__ import annotations

import argparse
import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from generalization import fitted, row
from recorded import ALL_NAMES, TRAINED, labelled_pages, site

from dedup_crawler.live.exploration.reloads import FIRST_PAGE, GROWTH
from dedup_crawler.pages.records import LabelledPage, ReloadedText
from dedup_crawler.pages.rotating import RotatingText

Pages = Sequence[LabelledPage]
Change = Callable[[LabelledPage, int], LabelledPage]
"""Changes a page that is fetched for the first time (0), or once more (1)."""


def as_recorded(pages: Pages) -> Change:
    """Change nothing."""
    return lambda page, fetch: page


def one_title(pages: Pages) -> Change:
    """Give all pages with a title the same one."""
    return lambda page, fetch: replace(page, title="The site") if page.title else page


def footer(pages: Pages) -> Change:
    """Add a line about the fetch."""

    def line(page: LabelledPage, fetch: int) -> LabelledPage:
        draw = random.Random(f"{page.url} {fetch}")
        return with_lines(
            page,
            f"Page generated in 0.{draw.randrange(1000):03} seconds with {draw.randrange(20, 60)} queries, "
            f"request {draw.randrange(16**12):012x}",
        )

    return line


def counter(pages: Pages) -> Change:
    """Count the views of half of all titles, in crawl order."""
    n_views: dict[str, int] = {}
    draw = random.Random(1)

    def change(page: LabelledPage, fetch: int) -> LabelledPage:
        if not page.title or zlib.crc32(page.title.encode()) % 2:
            return page
        n_views[page.title] = n_views.get(page.title, draw.randrange(500)) + draw.randrange(1, 4)
        return with_lines(page, f"This page has been viewed {n_views[page.title]} times.")

    return change


def quote(pages: Pages) -> Change:
    """Add a random line of a thousand."""
    words = sorted({word for page in pages for word in page.title.split()})
    draw = random.Random(0)
    quotes = [" ".join(draw.choices(words, k=10)) for _ in range(1_000)]
    return lambda page, fetch: with_lines(page, random.Random(f"{page.url} {fetch}").choice(quotes))


def links(pages: Pages) -> Change:
    """Add a heading and five random titles of the site."""
    titles = sorted({page.title for page in pages if page.title})

    def change(page: LabelledPage, fetch: int) -> LabelledPage:
        draw = random.Random(f"{page.url} {fetch}")
        return with_lines(page, "Random pages", *draw.sample(titles, 5))

    return change


def with_lines(page: LabelledPage, *lines: str) -> LabelledPage:
    """Add lines at the foot of a page with a title and a text."""
    if not page.title or not page.main_text:
        return page
    return replace(page, main_text="\n\t".join([page.main_text, *lines]))


CHANGES = {
    "as recorded": as_recorded,
    "one title for all pages": one_title,
    "a footer with the time and number of each fetch": footer,
    "a counter of views on half of the pages": counter,
    "a random quote on each page": quote,
    "a list of random links on each page": links,
}


def changed(pages: Pages, make_change: Callable[[Pages], Change], *, is_once: bool) -> list[LabelledPage]:
    """Change the pages, and fetch as many twice as a crawl does, up to the end of the training part; or none."""
    change = make_change(pages)
    shown = [change(page, 0) for page in pages]
    if is_once:
        return shown
    good = [place for place in range(round(TRAINED * len(pages))) if pages[place].title and pages[place].status == 200]
    reloads = []
    number = float(FIRST_PAGE)
    while number * GROWTH <= len(good):
        place = good[int(number)]
        second = change(pages[place], 1)
        reloads.append(ReloadedText(second.url, shown[place].main_text, second.main_text))
        number *= GROWTH
    return [*map(RotatingText.of(reloads).without, shown)]


def main() -> None:
    """Print a table with a row for each change."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path)
    parser.add_argument("databases", type=Path, help="labelled databases, as generalization.py makes them")
    parser.add_argument("names", nargs="*", default=ALL_NAMES)
    parser.add_argument("--change", action="append", choices=CHANGES, help="only this change; may be repeated")
    parser.add_argument("--once", action="store_true", help="fetch no page twice")
    given = parser.parse_args()
    recorded = {name: labelled_pages(name, given.sites, given.databases) for name in given.names}
    print("| | " + " | ".join(recorded) + " | mean | lost |")
    print("|---|" + "---:|" * (len(recorded) + 2))
    for told in given.change or CHANGES:
        crawls = (
            site(name, changed(pages, CHANGES[told], is_once=given.once), truth)
            for name, (pages, truth) in recorded.items()
        )
        row(told, [fitted(crawl, "balanced") for crawl in crawls])


if __name__ == "__main__":
    main()
