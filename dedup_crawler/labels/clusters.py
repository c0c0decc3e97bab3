"""Which URLs show the same page: redirects, equal texts and nearly equal texts, joined into duplicate clusters.

A wrong join makes a crawler lose a page, a missed one makes it fetch a page twice, so every join needs evidence:

- a redirect shows what it leads to, and redirects to one URL show the same, crawled or not;
- pages with the same title and status and the same text, of at least 10 words;
- the same, where the lines stand in another order (a list sorted otherwise): only under a title, for a text file has
  none, and the order of its lines is what it says;
- pages with the same title and status that are likely near-duplicates (cosine of 0.99 or more within a referrer group,
  or simhashes within 3 bits) and whose texts hardly differ (:func:`~dedup_crawler.labels.comparing.is_nearly_equal`).

A page without text is joined by redirects only. An error page is never joined with one of another status, for the
status is part of what has to agree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dedup_crawler.labels.comparing import MIN_WORDS, is_nearly_equal, is_reordered, n_words
from dedup_crawler.labels.cosine import DUPLICATE_SCORE
from dedup_crawler.labels.simhash import near_duplicate_pairs
from dedup_crawler.pages.records import LabelledPage
from dedup_crawler.urls.normal import normal_form

MAX_SIMHASH_DISTANCE = 3
"""Bits; the threshold of Manku et al. and of SIGIR'17."""
MAX_TRIES = 20
"""Candidates that one page is compared with, at most, and orders of one list: keeps the cost linear in pages."""
WINDOW = 2_000
"""Different texts under one title that are searched for near-duplicates at a time, in crawl order: bounds memory."""


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

    def join(self, left: int, right: int) -> None:
        """Put the sets of two items together."""
        left, right = self.find(left), self.find(right)
        self._parent[max(left, right)] = min(left, right)

    def numbers(self) -> list[int]:
        """Number of the set of each item; sets are numbered 0, 1, ... by first appearance."""
        number_of: dict[int, int] = {}
        return [number_of.setdefault(self.find(item), len(number_of)) for item in range(len(self._parent))]


def cluster_pages(pages: Sequence[LabelledPage], scores: Iterable[tuple[str, str, float]]) -> list[int]:
    """Put pages into duplicate clusters.

    Parameters
    ----------
    pages
        In crawl order, each URL once, with main texts and simhashes; their own cluster numbers are not looked at.
    scores
        As :func:`dedup_crawler.labels.cosine.score_pairs` gives them for the same pages; those below 0.99 and those of
        other URLs are left out.

    Returns
    -------
    list of int
        One number a page, 0, 1, ... by first appearance.
    """
    sets = DisjointSets(len(pages))
    _join_redirects(pages, sets)
    groups = list(_comparable(pages))
    for texts in groups:
        for members in texts.values():
            for member in members[1:]:
                sets.join(members[0], member)
    for texts in groups:
        first = {text: members[0] for text, members in texts.items()}
        if len(first) > 1 and pages[next(iter(first.values()))].title:
            _join_reordered(first, sets)
            _join_near(_simhash_candidates(pages, list(first.values())), pages, sets)
    _join_near(_cosine_candidates(pages, scores), pages, sets)
    return sets.numbers()


def _join_redirects(pages: Sequence[LabelledPage], sets: DisjointSets) -> None:
    holder = {normal_form(page.url): index for index, page in reversed(list(enumerate(pages)))}
    for index, page in enumerate(pages):
        if page.redirect_to is not None:
            sets.join(index, holder.setdefault(normal_form(page.redirect_to), index))


def _comparable(pages: Sequence[LabelledPage]) -> Iterator[dict[str, list[int]]]:
    """Text -> positions of the pages that have it, one such map for each status and title."""
    groups: defaultdict[tuple[int, str], defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, page in enumerate(pages):
        if page.main_text:
            groups[page.status, page.title][page.main_text].append(index)
    for texts in groups.values():
        yield {text: members for text, members in texts.items() if n_words(text) >= MIN_WORDS}


def _join_reordered(first: dict[str, int], sets: DisjointSets) -> None:
    orders: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for text in first:
        orders[tuple(sorted(text.split("\n")))].append(text)
    for texts in orders.values():
        for index, text in enumerate(texts):
            for earlier in texts[: min(index, MAX_TRIES)]:
                if is_reordered(earlier, text):
                    sets.join(first[earlier], first[text])
                    break


def _simhash_candidates(pages: Sequence[LabelledPage], members: list[int]) -> Iterator[tuple[int, int]]:
    hashed = [(index, pages[index].simhash) for index in members if pages[index].simhash is not None]
    for start in range(0, len(hashed), WINDOW):
        positions, fingerprints = zip(*hashed[start : start + WINDOW], strict=True)
        pairs = near_duplicate_pairs(np.array(fingerprints, np.uint64), MAX_SIMHASH_DISTANCE)
        yield from ((positions[left], positions[right]) for left, right in pairs.tolist())


def _cosine_candidates(
    pages: Sequence[LabelledPage], scores: Iterable[tuple[str, str, float]]
) -> Iterator[tuple[int, int]]:
    position = {page.url: index for index, page in enumerate(pages)}
    for left_url, right_url, score in scores:
        left, right = position.get(left_url), position.get(right_url)
        if score >= DUPLICATE_SCORE and left is not None and right is not None:
            yield left, right


def _join_near(candidates: Iterable[tuple[int, int]], pages: Sequence[LabelledPage], sets: DisjointSets) -> None:
    n_tried: defaultdict[int, int] = defaultdict(int)
    for left, right in candidates:
        one, other = pages[left], pages[right]
        if not one.title or (one.title, one.status) != (other.title, other.status) or n_tried[right] >= MAX_TRIES:
            continue
        if sets.find(left) == sets.find(right):
            continue
        n_tried[right] += 1
        if is_nearly_equal(one.main_text, other.main_text):
            sets.join(left, right)
