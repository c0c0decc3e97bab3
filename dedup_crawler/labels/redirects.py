"""Redirects, and what they lead to."""

from __future__ import annotations

from collections.abc import Iterator

from dedup_crawler.pages.records import LabelledPage
from dedup_crawler.urls.normal import normal_form


class Redirects:
    """Learns from the pages of a crawl, shown in crawl order, where each redirect leads."""

    def __init__(self) -> None:
        self.n_pages = 0
        """Shown so far."""
        self.positions: dict[str, int] = {}
        """URL in normal form -> position of the first page that it is the address of."""
        self._targets: list[tuple[int, str]] = []

    def see(self, page: LabelledPage) -> None:
        """Learn from the next page."""
        self.positions.setdefault(normal_form(page.url), self.n_pages)
        if page.redirect_to is not None:
            self._targets.append((self.n_pages, normal_form(page.redirect_to)))
        self.n_pages += 1

    def joins(self) -> Iterator[tuple[int, int, str]]:
        """Position of each redirect, position of what it leads to, reason."""
        not_crawled: dict[str, int] = {}
        for position, target in self._targets:
            found = self.positions.get(target)
            if found is None:  # of redirects to a page that was not crawled the first stands for it
                found = not_crawled.setdefault(target, position)
            yield position, found, f"a redirect to {target}"
