"""Rules between the nodes of a pattern tree: WWW'10, algorithms 2 and 3.

T. Lei et al., WWW 2010, section 4: two nodes that show the same pages are *duplicate nodes*. Each such pair gives a
rule. For each key of the target it says whether the value is kept (a literal), replaced (by the value of a source key)
or ignored. A node may be its own duplicate: then some of its keys do not matter.

The paper's overlap threshold of 0.5 fits sites where every URL has a duplicate; in an ordinary crawl it rejects true
rules. Here ten common pages are enough if 5 % of the nodes' URLs show them; wrong rules are discarded later, when they
are counted. Mappings between keys are found page by page, because whole columns of small numbers always have values in
common.

Cost: O(n k d) for n URLs of k keys in a tree of depth d; pairs of nodes are found through their pages. Of a page with
more than 100 nodes, or more than 50 URLs in one node, only a part is used.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

from dedup_crawler.grouping import grouped
from dedup_crawler.rules.language.matchers import Literal
from dedup_crawler.rules.language.operations import STAR, Copy, Drop, Operation, Set, Star
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.miners.mapped_crawl import MISSING, STRUCTURE, MappedCrawl
from dedup_crawler.rules.miners.pattern_tree import MIN_NODE, Node, build_tree
from dedup_crawler.urls.keyvalue import KeyValues

_MIN_CLUSTERS = 10
_MIN_OVERLAP = 0.05
_PAPERS_OVERLAP = 0.5  # enough for any number of pages
_MIN_MAPPING = 0.5
_MIN_FAKE, _MIN_FAKE_CLUSTERS = 0.5, 5
_MAX_NODES = 100  # nodes of one page: the number of pairs grows with the square
_MAX_CLUSTERS = 300  # pages of one pair of nodes
_MAX_URLS = 50  # URLs of one page in one node

_Clusters = Mapping[int, list[int]]
"""Page -> places of its URLs in a node."""
_Shown = Sequence[tuple[list[KeyValues], list[KeyValues]]]
"""URLs of each common page in the source and in the target."""
_Wanted = Sequence[set["str | None"]]
"""Values of a key on each common page, in the target."""


@dataclass(frozen=True)
class NodeRule:
    """A rule, with its source and target nodes."""

    rule: Rule
    source: Node
    target: Node


def node_rules(crawl: MappedCrawl, origin: str) -> list[NodeRule]:
    """All rules between duplicate nodes of the crawl's tree, without statistics."""
    nodes = list(build_tree(crawl.maps).walk())
    clusters = [grouped((crawl.pages[place], place) for place in node.places.tolist()) for node in nodes]
    found = []
    for s, t, common in _duplicate_nodes(nodes, clusters):
        ours = [_maps(crawl, clusters[s][cluster]) for cluster in common]
        theirs = [_maps(crawl, clusters[t][cluster]) for cluster in common] if s != t else ours
        for one, other, shown in ((s, t, (ours, theirs)), (t, s, (theirs, ours)))[: 1 + (s != t)]:
            source, target = nodes[one], nodes[other]
            if operations := _operations(source, target, list(zip(*shown, strict=True))):
                rule = Rule(crawl.host, source.context, operations, source.absent, origin)
                found.append(NodeRule(rule, source, target))
    return found


def _maps(crawl: MappedCrawl, places: Sequence[int]) -> list[KeyValues]:
    return [crawl.maps[place] for place in places[:_MAX_URLS]]


def _duplicate_nodes(nodes: Sequence[Node], clusters: Sequence[_Clusters]) -> Iterable[tuple[int, int, list[int]]]:
    """Pairs of duplicate nodes, and some of their common pages; a node that repeats pages is paired with itself."""
    of_cluster = grouped((cluster, number) for number, its in enumerate(clusters) for cluster in its)
    above = [set(node.ancestors()) for node in nodes]
    common: dict[tuple[int, int], list[int]] = defaultdict(list)
    for cluster, numbers in of_cluster.items():
        largest = numbers
        if len(numbers) > _MAX_NODES:
            largest = sorted(numbers, key=lambda number: (-len(clusters[number][cluster]), number))[:_MAX_NODES]
            largest.sort()
        for s, t in combinations(largest, 2):
            if nodes[s] not in above[t] and nodes[t] not in above[s]:
                common[s, t].append(cluster)
        for s in largest:
            if len(clusters[s][cluster]) > 1:
                common[s, s].append(cluster)
    for (s, t), shared in sorted(common.items()):
        if s == t:
            overlap = 1 - len(clusters[s]) / len(nodes[s].places)
            is_duplicate = len(shared) >= _MIN_CLUSTERS or overlap >= _PAPERS_OVERLAP
        else:
            n_shown = sum(len(clusters[s][cluster]) + len(clusters[t][cluster]) for cluster in shared)
            overlap = n_shown / (len(nodes[s].places) + len(nodes[t].places))
            is_duplicate = overlap >= (_MIN_OVERLAP if len(shared) >= _MIN_CLUSTERS else _PAPERS_OVERLAP)
        if is_duplicate and len(nodes[s].places) + len(nodes[t].places) >= MIN_NODE:
            yield s, t, shared[:_MAX_CLUSTERS]


def _operations(source: Node, target: Node, shown: _Shown) -> dict[str, Operation] | None:
    """Operations that turn URLs of *source* into those of *target*; None if there are none."""
    operations: dict[str, Operation] = {}
    source_keys = _keys(urls for urls, _ in shown)
    target_keys = _keys(urls for _, urls in shown)
    for key in target_keys:
        literal = target.context.get(key)
        if isinstance(literal, Literal):
            if source.context.get(key) != literal:
                operations[key] = Set(literal.value)
            continue
        wanted = [{values.get(key, MISSING) for values in urls} for _, urls in shown]
        if not _is_fake(wanted, shown):
            origin = key if source is target else _origin(key, source_keys, wanted, shown)
            if origin is not None:
                if origin != key:
                    operations[key] = Copy(origin)
                continue
        ignored = _ignored(key, is_own=source is target, is_always_there=key in target.context)
        if ignored is None:
            return None
        operations[key] = ignored
    return operations | {key: Drop() for key in source_keys if key not in target_keys}


def _keys(shown: Iterable[list[KeyValues]]) -> dict[str, None]:
    return dict.fromkeys(chain.from_iterable(chain.from_iterable(shown)))


def _is_fake(wanted: _Wanted, shown: _Shown) -> bool:
    """Return True if pages of the target have several values of the key, so that the value does not matter."""
    n_several = sum(len(urls) > 1 for _, urls in shown)
    n_fake = sum(len(values) > 1 for values in wanted)
    n_least = min(_MIN_FAKE_CLUSTERS, len(shown))
    return n_several >= n_least and n_fake > 0 and n_fake >= _MIN_FAKE * n_several


def _origin(key: str, source_keys: Iterable[str], wanted: _Wanted, shown: _Shown) -> str | None:
    """The source key whose values agree with those of *key* on most pages; *key* itself wins ties."""
    candidates = [key] if key in STRUCTURE else [key, *(k for k in source_keys if k != key and k not in STRUCTURE)]
    agreeing: Counter[str] = Counter()
    for candidate in candidates:
        agreeing[candidate] = sum(
            any(values.get(candidate, MISSING) in its for values in sources)
            for (sources, _), its in zip(shown, wanted, strict=True)
        )
        if agreeing[key] == len(shown):
            break  # the key itself agrees on all pages
    # two keys that most URLs lack agree on most pages, so the result must be a key that all URLs have
    best = max(candidates, key=lambda k: (agreeing[k], -candidates.index(k)))
    if agreeing[best] <= _MIN_MAPPING * len(shown):
        return None
    if best != key and any(best not in values for urls, _ in shown for values in urls):
        return None
    return best


def _ignored(key: str, *, is_own: bool, is_always_there: bool) -> Operation | None:
    if key in ("path.length", "scheme", "root"):
        return None
    if not is_always_there or key in STRUCTURE:
        return None if key.startswith("path[") else Drop()
    return Star() if is_own else Set(STAR)
