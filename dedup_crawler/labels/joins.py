"""Sets of pages that only grow together, and why each join was made."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass


class DisjointSets:
    """Numbers 0..n-1 in sets that only grow together."""

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
        """Put the sets of two items together; whether they were apart."""
        left, right = self.find(left), self.find(right)
        self._parent[max(left, right)] = min(left, right)
        return left != right

    def numbers(self) -> list[int]:
        """Number of the set of each item; sets are numbered 0, 1, ... by first appearance."""
        number_of: dict[int, int] = {}
        return [number_of.setdefault(self.find(item), len(number_of)) for item in range(len(self._parent))]


@dataclass(frozen=True, slots=True)
class Join:
    """Two pages (positions in crawl order) that were put together, and the evidence."""

    left: int
    right: int
    reason: str


class Clustering:
    """Duplicate clusters of the pages 0..n-1, with the joins that made them."""

    def __init__(self, n_pages: int) -> None:
        self._sets = DisjointSets(n_pages)
        self.joins: list[Join] = []
        """In the order in which they were made; a tree for each cluster."""

    def join(self, left: int, right: int, reason: str) -> None:
        """Put two pages together, unless they are already."""
        if self._sets.join(left, right):
            self.joins.append(Join(left, right, reason))

    def are_same(self, left: int, right: int) -> bool:
        """Whether two pages are in one cluster."""
        return self._sets.find(left) == self._sets.find(right)

    def numbers(self) -> list[int]:
        """Cluster number of each page; 0, 1, ... by first appearance."""
        return self._sets.numbers()

    def explain(self, left: int, right: int) -> list[Join]:
        """The joins that lead from one page to the other; none if they are not in one cluster."""
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
