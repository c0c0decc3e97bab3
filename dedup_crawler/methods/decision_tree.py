"""The decision-tree approach: deep tokens, chosen pairs, contexts generalised by a tree.

H. S. Koppula, K. P. Leela, A. Agarwal, K. P. Chitrapura, S. Garg, A. Sasturkar, "Learning URL patterns for webpage
de-duplication", WSDM 2010; a short version is A. Agarwal et al., CIKM 2009. Their texts could not be had: what is here
follows the abstract, patents of the same group, and SIGIR'17, who discard rules that are wrong in more than 10 %.

The stages are those of their MapReduce job, each a pure function of a key and its values, so that an engine may run
them on many machines: delimiters of a host (:func:`dedup_crawler.rules.deep_keys.learn_cuts`), templates of a cluster
(:func:`templates_of_cluster`), summed per host, rows of a cluster (:func:`rows_of_cluster`), rules of a host
(:func:`dedup_crawler.rules.decision_tree.generalized`). What is drawn for a cluster depends on the seed and the cluster
alone, never on the order of clusters.

Decided here: the target of a cluster is the URL with the fewest values that no other of its URLs has (they could not be
derived), then one without a query, of the template that most clusters have, with the fewest keys. From each shape ten
sources at most are taken. URLs of singleton clusters and targets are rows that stay as they are: the negatives.
A rare value of the target that comes from nowhere does not matter if the source is of the same template: both lose it;
else the pair is left out.

Cost: O(n k d log n) for n rows of k keys in a tree of depth d; a cluster gives at most ten rows a shape.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods.rule_based import DeepRuleBased
from dedup_crawler.rules.decision_tree import Row, Transformation, generalized
from dedup_crawler.rules.mapped_crawl import MappedCrawl
from dedup_crawler.rules.pairs import (
    STRUCTURE,
    Constants,
    KeyTemplate,
    constants_of,
    pair_operations,
    stratified,
    template_of,
)
from dedup_crawler.rules.rule import Operation, Rule, Set, Star
from dedup_crawler.rules.selection import naive_selection, qualified
from dedup_crawler.urls.keyvalue import KeyValues

_MAX_SOURCES = 10  # of one shape and cluster


class DecisionTree(DeepRuleBased):
    """Rules from chosen pairs of duplicates, generalised by a decision tree (WSDM'10).

    Parameters
    ----------
    max_fpr
        Share (0-1) of a rule's pairs that may be wrong on the training URLs.
    min_coverage
        URLs that a rule changes at least.
    seed
        Draws the URLs of larger clusters.
    """

    name = "decision-tree"

    def __init__(self, *, max_fpr: float = 0.10, min_coverage: int = 10, seed: int = 0) -> None:
        self.max_fpr = max_fpr
        self.min_coverage = min_coverage
        self.seed = seed

    def _check_options(self) -> None:
        if not 0 <= self.max_fpr <= 1:
            raise BadInputError(f"decision-tree: max_fpr is {self.max_fpr}; give a share from 0 to 1.")
        if self.min_coverage < 1:
            raise BadInputError(f"decision-tree: min_coverage is {self.min_coverage}; give 1 URL or more.")

    def _mine(self, crawl: MappedCrawl) -> list[Rule]:
        clusters = {
            cluster: [crawl.urls[place].values for place in places] for cluster, places in crawl.clusters.items()
        }
        constants = constants_of([url.values for url in crawl.urls])
        votes = Counter(
            template
            for cluster, maps in clusters.items()
            for template in templates_of_cluster(cluster, maps, constants=constants)
        )
        rows = [
            row
            for cluster, maps in clusters.items()
            for row in rows_of_cluster(cluster, maps, votes=votes, constants=constants, seed=self.seed)
        ]
        rules = [
            Rule(crawl.host, leaf.context, dict(leaf.transformation), leaf.absent, self.name)
            for leaf in generalized(rows)
        ]
        kept = qualified(rules, crawl, max_fpr=self.max_fpr, min_urls=self.min_coverage)
        return naive_selection(kept, crawl)


def templates_of_cluster(cluster: int, maps: Sequence[KeyValues], *, constants: Constants) -> set[KeyTemplate]:
    """What a cluster of several URLs votes for; a single URL has no choice."""
    return {template_of(values, constants) for values in maps} if len(maps) > 1 else set()


def rows_of_cluster(
    cluster: int,
    maps: Sequence[KeyValues],
    *,
    votes: Mapping[KeyTemplate, int],
    constants: Constants,
    seed: int,
) -> list[Row]:
    """Pairwise rules from the sources of a cluster to its target, and the target's own row.

    Parameters
    ----------
    cluster, maps
        Key and values of this stage.
    votes
        Template -> clusters that hold it: templates are chosen before URLs, lest clusters contradict each other.
    """
    draw = random.Random(f"{seed} {cluster}")  # noqa: S311 - draws examples, guards nothing
    n_urls = Counter(item for values in maps for item in set(values.values()))

    def rank(values: KeyValues) -> tuple[object, ...]:
        own = [item for item in values.items() if item not in constants and n_urls[item[1]] < 2]
        return len(own), *_target_rank(values, votes, constants)

    target = min(maps, key=rank)
    rows: list[Row] = []
    ignored: set[str] = set()
    for source in _sources(maps, target, draw):
        operations = pair_operations(source, target, Counter(source.values()))
        is_alike = template_of(source, constants) == template_of(target, constants)
        transformation = _transformation(operations, constants, is_alike=is_alike)
        if transformation is not None:
            rows.append(Row(source, transformation))
            ignored |= {key for key, operation in transformation if isinstance(operation, Star)}
    return [*rows, Row(target, frozenset((key, Star()) for key in ignored))]


def _target_rank(values: KeyValues, votes: Mapping[KeyTemplate, int], constants: Constants) -> tuple[object, ...]:
    """Smaller is the better target; all but the last two are the same for all URLs of a template."""
    is_dynamic = any(key.startswith("query[") for key in values)
    written = sorted((key, value or "") for key, value in values.items())
    length = sum(len(value) for _, value in written)
    return is_dynamic, -votes.get(template_of(values, constants), 0), len(values), length, written


def _sources(maps: Sequence[KeyValues], target: KeyValues, draw: random.Random) -> Iterable[KeyValues]:
    by_shape: dict[frozenset[str], list[KeyValues]] = {}
    for values in maps:
        if values is not target:
            by_shape.setdefault(frozenset(values), []).append(values)
    for alike in by_shape.values():
        yield from stratified(alike, _MAX_SOURCES, draw)


def _transformation(
    operations: Mapping[str, Operation], constants: Constants, *, is_alike: bool
) -> Transformation | None:
    """Operations with rare literals ignored between URLs of one template; None where one would have to be made up."""
    said: dict[str, Operation] = {}
    for key, operation in operations.items():
        if isinstance(operation, Set) and key not in STRUCTURE and (key, operation.value) not in constants:
            if not is_alike:
                return None
            operation = Star()
        said[key] = operation
    return frozenset(said.items())
