"""The waste of a crawl: its URLs as a tree of patterns, with the numbers of fetches that showed nothing new.

A pattern is a deep template (:mod:`dedup_crawler.urls.templates`), cut at its slashes: below ``/topic`` is
``/topic/<num>-<any>``, and below that ``?page=<num>``. A fetch is a repeat if an earlier URL of any pattern showed the
page, so the repeats of a branch are the sum of the repeats of its leaves.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from dedup_crawler.pages.records import PageFacts
from dedup_crawler.report.crawl_facts import PageOf
from dedup_crawler.urls.normal import normal_form
from dedup_crawler.urls.templates import Templater, TokenCounts, count_tokens
from dedup_crawler.urls.tokens import split

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


@dataclass
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
    examples: list[tuple[str, Hashable]] = field(default_factory=list)
    """Some repeats that end at this branch, and the page of each."""

    @property
    def repeat_share(self) -> float:
        """Share (0-1) of the fetches that showed nothing new."""
        return self.n_repeats / self.n_urls


@dataclass(frozen=True)
class ShownPattern:
    """A branch that the report shows."""

    pattern: Pattern
    children: tuple[ShownPattern, ...]
    n_hidden: int
    """Number of patterns directly below that are not shown."""
    n_hidden_urls: int
    """Number of URLs of these patterns."""
    n_hidden_repeats: int
    """Number of repeats of these patterns."""


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
            if label not in node.children:
                if n_nodes >= _MAX_NODES:
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


def shown_patterns(root: Pattern) -> ShownPattern:
    """Choose the branches with most repeats, at most :data:`MAX_SHOWN`, and join chains of single branches."""
    _collapse(root)
    nodes = [root]
    for node in nodes:
        nodes += _best(node)
    # the sort is stable, and no branch has more repeats or URLs than its parent: the parent of a chosen one is chosen
    most = sorted(nodes[1:], key=lambda node: (-node.n_repeats, -node.n_urls))[:MAX_SHOWN]
    return _shown(root, set(map(id, most)))


def examples_of(shown: ShownPattern) -> Iterator[tuple[str, Hashable]]:
    """All repeats that are shown."""
    yield from shown.pattern.examples
    for child in shown.children:
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


def _shown(node: Pattern, chosen: set[int]) -> ShownPattern:
    shown = [child for child in _best(node) if id(child) in chosen]
    hidden = len(node.children) - len(shown)
    return ShownPattern(
        pattern=node,
        children=tuple(_shown(child, chosen) for child in shown),
        n_hidden=hidden,
        n_hidden_urls=node.n_urls - node.n_own - sum(child.n_urls for child in shown),
        n_hidden_repeats=sum(child.n_repeats for child in node.children.values())
        - sum(child.n_repeats for child in shown),
    )
