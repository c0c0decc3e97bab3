"""Savings of ``verified`` on recorded sites that were changed in a way that many sites of the web have.

    python benchmarks/changed_sites.py ../shared/corpora/sites build/results [SITE...]

The change concerns all pages, and neither URLs nor links: what a method should save stays the same. A cell has the
share of avoidable fetches that is saved, and the number of needed pages that are lost.
"""

from __future__ import annotations

import argparse
import random
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from generalization import fitted, row
from recorded import ALL_NAMES, labelled_pages, site

from dedup_crawler.pages.records import LabelledPage

Change = Callable[[LabelledPage], LabelledPage]


def as_recorded(page: LabelledPage) -> LabelledPage:
    """Change nothing."""
    return page


def one_title(page: LabelledPage) -> LabelledPage:
    """Give all pages with a title the same one."""
    return replace(page, title="The site") if page.title else page


def footer(page: LabelledPage) -> LabelledPage:
    """Add a line about the fetch to each page with a title and a text."""
    if not page.title or not page.main_text:
        return page
    draw = random.Random(page.url)
    line = (
        f"Page generated in 0.{draw.randrange(1000):03} seconds with {draw.randrange(20, 60)} queries, "
        f"request {draw.randrange(16**12):012x}"
    )
    return replace(page, main_text=f"{page.main_text}\n\t{line}")


def counter() -> Change:
    """Return a change that counts the views of half of all titles, in crawl order."""
    n_views: dict[str, int] = {}
    draw = random.Random(1)

    def change(page: LabelledPage) -> LabelledPage:
        if not page.title or not page.main_text or zlib.crc32(page.title.encode()) % 2:
            return page
        n_views[page.title] = n_views.get(page.title, draw.randrange(500)) + draw.randrange(1, 4)
        return replace(page, main_text=f"{page.main_text}\n\tThis page has been viewed {n_views[page.title]} times.")

    return change


CHANGES: dict[str, Callable[[], Change]] = {
    "as recorded": lambda: as_recorded,
    "one title for all pages": lambda: one_title,
    "a footer with the time and number of each fetch": lambda: footer,
    "a counter of views on half of the pages": counter,
}


def main() -> None:
    """Print a table with a row for each change."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path)
    parser.add_argument("databases", type=Path, help="labelled databases, as generalization.py makes them")
    parser.add_argument("names", nargs="*", default=ALL_NAMES)
    given = parser.parse_args()
    recorded = {name: labelled_pages(name, given.sites, given.databases) for name in given.names}
    print("| | " + " | ".join(recorded) + " | mean | lost |")
    print("|---|" + "---:|" * (len(recorded) + 2))
    for told, change in CHANGES.items():
        crawls = (site(name, [*map(change(), pages)], truth) for name, (pages, truth) in recorded.items())
        row(told, [fitted(crawl, "balanced") for crawl in crawls])


if __name__ == "__main__":
    main()
