"""Clusters with the reason for every join, and the joins that need no text.

Joins without text are redirects, and pages with the same digest of their body: files, and the pages of an export
without bodies. Equal bodies are the surest evidence, with one exception: a body at very many addresses, such as a
log-in form, says nothing about the pages behind it. So a body that too many URLs share joins none of them. Bodies of
redirects and errors do not count.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass

from dedup_crawler.labels.lines import digest
from dedup_crawler.pages.records import LabelledPage
from dedup_crawler.urls.normal import normal_form

MAX_SHARE = 0.1
"""Largest share (0-1) of the pages with a digest that one body joins."""
FEW_URLS = 10
"""Number of pages that one body may always join."""
SAME_BODY = "the same body, byte for byte"
"""Reason for joins of equal bodies."""


class DisjointSets:
    """Disjoint sets of the numbers 0..n-1, which can only be joined."""

    def __init__(self, n: int) -> None:
        self._parent = list(range(n))

    def find(self, item: int) -> int:
        """The smallest member of the set of *item*."""
        parent = self._parent
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    def join(self, left: int, right: int) -> bool:
        """Join the sets of two items; return True if they were apart."""
        left, right = self.find(left), self.find(right)
        self._parent[max(left, right)] = min(left, right)
        return left != right

    def numbers(self) -> list[int]:
        """Number of the set of each item; sets are numbered 0, 1, ... by first appearance."""
        number_of: dict[int, int] = {}
        return [number_of.setdefault(self.find(item), len(number_of)) for item in range(len(self._parent))]


@dataclass(frozen=True, slots=True)
class Join:
    """Two pages (positions in crawl order) that were joined, and the reason."""

    left: int
    right: int
    reason: str


class Clustering:
    """Duplicate clusters of the pages 0..n-1, with the joins that made them."""

    def __init__(self, n_pages: int) -> None:
        self._sets = DisjointSets(n_pages)
        self.joins: list[Join] = []
        """Joins in order; those of one cluster form a tree."""

    def join(self, left: int, right: int, reason: str) -> None:
        """Join the clusters of two pages, unless they are in one cluster already."""
        if self._sets.join(left, right):
            self.joins.append(Join(left, right, reason))

    def are_same(self, left: int, right: int) -> bool:
        """Return True if two pages are in one cluster."""
        return self._sets.find(left) == self._sets.find(right)

    def numbers(self) -> list[int]:
        """Cluster number of each page; 0, 1, ... by first appearance."""
        return self._sets.numbers()

    def explain(self, left: int, right: int) -> list[Join]:
        """The joins that lead from one page to the other; empty if they are in different clusters."""
        joins_of: defaultdict[int, list[Join]] = defaultdict(list)
        for join in self.joins:
            joins_of[join.left].append(join)
            joins_of[join.right].append(join)
        way_to: dict[int, list[Join]] = {left: []}
        waiting = deque([left])
        while waiting and right not in way_to:
            page = waiting.popleft()
            for join in joins_of[page]:
                other = join.right if join.left == page else join.left
                if other not in way_to:
                    way_to[other] = [*way_to[page], join]
                    waiting.append(other)
        return way_to.get(right, [])


def cluster_without_text(pages: Iterable[LabelledPage]) -> tuple[Clustering, dict[str, int]]:
    """Join redirects and equal bodies of pages in crawl order.

    Also returns the position of the first page with each URL, in normal form.
    """
    positions: dict[str, int] = {}
    targets: list[tuple[int, str]] = []
    body_of: dict[int, int] = {}
    n_pages = 0
    for position, page in enumerate(pages):
        n_pages += 1
        positions.setdefault(normal_form(page.url), position)
        if page.redirect_to is not None:
            targets.append((position, normal_form(page.redirect_to)))
        if page.digest is not None and 200 <= page.status < 300:
            body_of[position] = digest(f"{page.status} {page.digest}")
    clustering = Clustering(n_pages)
    not_crawled: dict[str, int] = {}
    for position, target in targets:
        found = positions.get(target)
        if found is None:  # the first redirect to a page that was not crawled stands for the page
            found = not_crawled.setdefault(target, position)
        clustering.join(position, found, f"a redirect to {target}")
    n_urls = Counter(body_of.values())
    most = max(FEW_URLS, MAX_SHARE * len(body_of))
    first: dict[int, int] = {}
    for position, body in body_of.items():
        if n_urls[body] <= most:
            clustering.join(first.setdefault(body, position), position, SAME_BODY)
    return clustering, positions
