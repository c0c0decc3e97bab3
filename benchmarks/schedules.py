"""Schedules of self-driving crawls, simulated on the recorded sites: number of pages before the first fit, and growth.

    python benchmarks/schedules.py ../shared/corpora/sites build/results [SITE...] [--schedule FIRST:GROWTH]...

A crawl fetches the recorded URLs in order. Whenever it has enough pages it learns from them, at once, and drops
duplicates by the new rules, without testing any rule. A cell has the share of avoidable fetches that is saved, and the
number of lost pages: upper bounds for a live crawl, whose tests should prevent the losses.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from recorded import ALL_NAMES, labelled_pages, site

from dedup_crawler.methods import Canonicalizer, Referrer
from dedup_crawler.methods.verified import Verified
from dedup_crawler.pages.records import LabelledPage
from dedup_crawler.urls.normal import normal_form

SCHEDULES = ("200:2", "200:1.3", "100:2", "100:1.3")


class LearningCrawl:
    """A crawl that uses a model of its own pages."""

    def __init__(self, name: str, truth: dict[str, str]) -> None:
        self.fetched: list[LabelledPage] = []
        self.n_dropped = 0
        self._name, self._truth = name, truth
        self._model: Canonicalizer | None = None
        self._form_of: dict[str, str] = {}
        self._seen: set[str] = set()

    def offer(self, page: LabelledPage) -> None:
        """Fetch a page, or drop its URL."""
        url = form = normal_form(page.url)
        if self._model is not None:
            referrer = page.referrer and normal_form(page.referrer)
            its_form = self._form_of.get(referrer) if referrer else None
            form = self._model.canonicalize(url, Referrer(referrer, its_form) if referrer and its_form else None)
            if self._model.is_covered(url) or form in self._seen:
                self.n_dropped += 1
                return
        self._form_of[url] = form
        self._seen.add(form)
        self.fetched.append(page)

    def learn(self) -> None:
        """Learn from the pages fetched so far."""
        self._model = site(self._name, self.fetched, self._truth, len(self.fetched)).fit(Verified())
        urls = [normal_form(page.url) for page in self.fetched]
        self._form_of = dict(zip(urls, self._model.canonicalize_many(urls), strict=True))
        self._seen = set(self._form_of.values())


def simulated(name: str, pages: Sequence[LabelledPage], truth: dict[str, str], schedule: str) -> tuple[float, int]:
    """Return the share (0-1) of avoidable fetches that is saved, and the number of lost pages."""
    due, growth = map(float, schedule.split(":"))
    crawl = LearningCrawl(name, truth)
    for page in pages:
        crawl.offer(page)
        if len(crawl.fetched) >= due:
            crawl.learn()
            due *= growth
    every = {truth[page.url] for page in pages}
    n_lost = len(every - {truth[page.url] for page in crawl.fetched})
    return crawl.n_dropped / (len(pages) - len(every)), n_lost


def main() -> None:
    """Print a table with a row for each schedule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path)
    parser.add_argument("databases", type=Path, help="labelled databases of the sites, as generalization.py makes them")
    parser.add_argument("names", nargs="*", default=ALL_NAMES)
    parser.add_argument("--schedule", action="append", metavar="FIRST:GROWTH")
    given = parser.parse_args()
    recorded = {name: labelled_pages(name, given.sites, given.databases) for name in given.names}
    print("| first time, growth | " + " | ".join(recorded) + " | mean | lost |")
    print("|---|" + "---:|" * (len(recorded) + 2))
    for schedule in given.schedule or SCHEDULES:
        cells = [simulated(name, *crawl, schedule) for name, crawl in recorded.items()]
        shown = " | ".join(f"{saved:.3f} / {lost}" for saved, lost in cells)
        print(f"| {schedule} | {shown} | {mean(saved for saved, _ in cells):.3f} | {sum(lost for _, lost in cells)} |")


if __name__ == "__main__":
    main()
