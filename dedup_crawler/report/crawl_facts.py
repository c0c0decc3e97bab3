"""The crawl and its waste: counts for the first two sections, with a number for each page in memory.

The waste is shown as a tree of URL patterns, with the numbers of fetches that showed nothing new. A pattern is a deep
template (:mod:`dedup_crawler.urls.templates`), cut at its slashes: below ``/topic`` is ``/topic/<num>-<any>``, and
below that ``?page=<num>``. A fetch is a repeat if an earlier URL of any pattern showed the page, so the repeats of a
branch are the sum of the repeats of its leaves.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from dedup_crawler.pages.records import PageFacts
from dedup_crawler.urls.normal import host_of, normal_form
from dedup_crawler.urls.templates import Templater, TokenCounts, count_tokens, split

PageOf = Callable[[PageFacts], "Hashable | None"]
"""Gives the page that a URL shows; None if it is not known."""
N_LARGEST = 12
"""Number of listed pages, those with most URLs."""
_N_POINTS = 120  # points of the curve
_MAX_HOSTS = 10_000
_N_HOSTS = 5
_STATUSES = {2: "answered", 3: "redirects", 4: "refused or missing (4xx)", 5: "errors of the server (5xx)"}
MAX_SHOWN = 250
"""Most patterns that are shown, those with most repeats."""
MAX_CHILDREN = 15
"""Most patterns that are shown below one pattern."""
N_EXAMPLES = 2
"""Most repeats that are shown of one pattern."""
_MAX_NODES = 50_000
_MAX_DEPTH = 8
_MAX_LEARNT = 200_000  # URLs in which function tokens are counted
_PLACEHOLDER = re.compile(r"<([a-z]+)[0-9]+>")
_OTHERS = "(other patterns)"
_OTHER_HOSTS = "(hosts with few URLs)"


@dataclass(frozen=True)
class CrawlFacts:
    """Counts of one crawl."""

    n_urls: int
    n_judged: int
    """Number of URLs whose page is known."""
    n_pages: int
    """Number of different pages of these URLs."""
    n_bytes: int
    n_repeat_bytes: int
    """Bytes of URLs whose page an earlier URL showed."""
    statuses: tuple[tuple[str, int], ...]
    hosts: tuple[tuple[str, int], ...]
    """Hosts with most URLs, and their numbers of URLs."""
    n_hosts: int
    fetched: tuple[float, float] | None
    """Times of the first and the last fetch, in seconds since 1970."""
    growth: tuple[tuple[int, int], ...]
    """Points of a curve: number of judged URLs, and number of different pages among them."""
    largest: tuple[tuple[Hashable, int], ...]
    """Pages with most URLs, and their numbers of URLs."""
    unseen: frozenset[Hashable]
    """Pages of which the crawl has only redirects to them."""

    @property
    def n_repeats(self) -> int:
        """Number of fetches that showed nothing new."""
        return self.n_judged - self.n_pages

    @property
    def repeat_share(self) -> float:
        """Share (0-1) of the fetches that showed nothing new."""
        return self.n_repeats / self.n_judged if self.n_judged else 0.0


def crawl_facts(pages: Iterable[PageFacts], n_urls: int, page_of: PageOf) -> CrawlFacts:
    """Count the *n_urls* pages of a crawl, given in crawl order with their sizes."""
    urls_of: Counter[Hashable] = Counter()
    hosts: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    times: list[float] = []
    unseen: set[Hashable] = set()
    n_judged = n_bytes = n_repeat_bytes = 0
    step = max(1, math.ceil(n_urls / _N_POINTS))
    growth = [(0, 0)]
    for facts in pages:
        statuses[_STATUSES.get(facts.status // 100, "other")] += 1
        host = host_of(normal_form(facts.url))
        hosts[host if host in hosts or len(hosts) < _MAX_HOSTS else "other hosts"] += 1
        n_bytes += facts.n_bytes or 0
        if facts.fetched_at is not None:
            times = [min([facts.fetched_at, *times]), max([facts.fetched_at, *times])]
        page = page_of(facts)
        if page is None:
            continue
        n_judged += 1
        if page in urls_of:
            n_repeat_bytes += facts.n_bytes or 0
        if facts.status // 100 != 3:
            unseen.discard(page)
        elif page not in urls_of:
            unseen.add(page)
        urls_of[page] += 1
        if n_judged % step == 0:
            growth.append((n_judged, len(urls_of)))
    if growth[-1][0] != n_judged:
        growth.append((n_judged, len(urls_of)))
    return CrawlFacts(
        n_urls=statuses.total(),
        n_judged=n_judged,
        n_pages=len(urls_of),
        n_bytes=n_bytes,
        n_repeat_bytes=n_repeat_bytes,
        statuses=tuple(statuses.most_common()),
        hosts=tuple(hosts.most_common(_N_HOSTS)),
        n_hosts=len(hosts),
        fetched=(times[0], times[1]) if times else None,
        growth=tuple(growth),
        unseen=frozenset(unseen),
        largest=tuple((page, n) for page, n in urls_of.most_common(N_LARGEST) if n > 1),
    )


def first_shown(pages: Iterable[PageFacts], page_of: PageOf, wanted: set[Hashable]) -> dict[Hashable, PageFacts]:
    """The first URL of each wanted page."""
    found: dict[Hashable, PageFacts] = {}
    for facts in pages:
        if len(found) == len(wanted):
            break
        if (page := page_of(facts)) in wanted:
            found.setdefault(page, facts)
    return found


@dataclass(eq=False)
class Pattern:
    """One branch: all URLs whose templates have the same beginning."""

    label: str
    """Last part of the beginning."""
    n_urls: int = 0
    n_repeats: int = 0
    """Number of URLs whose page an earlier URL showed."""
    n_repeat_bytes: int = 0
    n_own: int = 0
    """Number of URLs that end at this branch."""
    children: dict[str, Pattern] = field(default_factory=dict)
    hidden: list[Pattern] = field(default_factory=list)
    """Patterns directly below that :func:`leave_most` took out."""
    examples: list[tuple[str, Hashable]] = field(default_factory=list)
    """Some repeats that end at this branch, and the page of each."""

    @property
    def repeat_share(self) -> float:
        """Share (0-1) of the fetches that showed nothing new."""
        return self.n_repeats / self.n_urls


def tokens_of(urls: Iterable[str], n_urls: int) -> TokenCounts:
    """Document frequencies of the tokens of a crawl, from at most 200,000 evenly spaced URLs."""
    step = max(1, math.ceil(n_urls / _MAX_LEARNT))
    return count_tokens(normal_form(url) for place, url in enumerate(urls) if place % step == 0)


def pattern_tree(pages: Iterable[PageFacts], page_of: PageOf, templater: Templater) -> Pattern:
    """Build the tree of all URLs whose page is known; *pages* come in crawl order."""
    root = Pattern("")
    n_nodes = 0
    seen: set[Hashable] = set()
    for facts in pages:
        page = page_of(facts)
        if page is None:
            continue
        is_repeat = page in seen
        seen.add(page)
        node = root
        _count(node, facts, is_repeat)
        for label in _labels(facts.url, templater):
            if label not in node.children and n_nodes >= _MAX_NODES:
                label = _OTHERS
            if label not in node.children:
                n_nodes += 1
                node.children[label] = Pattern(label)
            node = node.children[label]
            _count(node, facts, is_repeat)
            if label == _OTHERS:
                break
        node.n_own += 1
        if is_repeat and len(node.examples) < N_EXAMPLES:
            node.examples.append((facts.url, page))
    return root


def leave_most(root: Pattern) -> None:
    """Leave the branches with most repeats, at most :data:`MAX_SHOWN`, and join chains of single branches."""
    _collapse(root)
    nodes = [root]
    for node in nodes:
        nodes += _best(node)
    # the sort is stable, and no branch has more repeats or URLs than its parent: the parent of a chosen one is chosen
    chosen = set(sorted(nodes[1:], key=lambda node: (-node.n_repeats, -node.n_urls))[:MAX_SHOWN])
    for node in nodes:
        node.hidden = [child for child in node.children.values() if child not in chosen]
        node.children = {child.label: child for child in _best(node) if child in chosen}


def examples_of(pattern: Pattern) -> Iterator[tuple[str, Hashable]]:
    """All examples of a pattern and those below."""
    yield from pattern.examples
    for child in pattern.children.values():
        yield from examples_of(child)


def _count(node: Pattern, facts: PageFacts, is_repeat: bool) -> None:
    node.n_urls += 1
    if is_repeat:
        node.n_repeats += 1
        node.n_repeat_bytes += facts.n_bytes or 0


def _labels(url: str, templater: Templater) -> list[str]:
    """Host, path components and query of a URL's template."""
    url = normal_form(url)
    origin = split(url)[0]
    template = templater.split(url)[0]
    written_origin = split(template)[0]
    path, question, query = _PLACEHOLDER.sub(_kind, template[len(written_origin) :]).partition("?")
    parts = [f"/{part}" for part in path.split("/")[1:]]
    if len(parts) > _MAX_DEPTH:
        parts = [*parts[: _MAX_DEPTH - 1], "".join(parts[_MAX_DEPTH - 1 :])]
    host = origin if origin in templater.function_tokens else _OTHER_HOSTS
    return [host, *parts, *([question + query] if question else [])]


def _kind(placeholder: re.Match[str]) -> str:
    return {"one": "1", "zero": "0"}.get(placeholder[1], f"<{placeholder[1]}>")


def _collapse(node: Pattern) -> None:
    """Join a branch with its only child, if no URL ends at the branch."""
    for child in node.children.values():
        _collapse(child)
    if len(node.children) == 1 and not node.n_own and node.label:
        (child,) = node.children.values()
        node.label += child.label
        node.children, node.n_own, node.examples = child.children, child.n_own, child.examples


def _best(node: Pattern) -> list[Pattern]:
    children = sorted(node.children.values(), key=lambda child: (-child.n_repeats, -child.n_urls, child.label))
    return children[:MAX_CHILDREN]
