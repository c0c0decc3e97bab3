"""The decision-tree approach as operations on data frames, in the stages in which WSDM'10 ran it as MapReduce.

Each stage has a frame of its own, so that Spark spreads the clusters of a large host over all workers, and only small
rows come together for the tree of the host:

1. :func:`clusters_frame`: a row a cluster, with the keys and values of its URLs (deep tokens), by host.
2. :func:`pairs_frame`: pairwise rules from the sources of a cluster to its target, cluster by cluster.
3. :func:`trees_frame`: the contexts of the pairwise rules generalised by a tree, by host.
4. :func:`rules_frame`: the rules counted on the URLs and selected, by host.

The functions of ``train decision-tree`` do all the learning, and the rules are the same. Frames hold values as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from dedup_crawler.json_values import JsonValue
from dedup_crawler.methods.miners import DecisionTree
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.language.rule_files import rules_from_json, rules_to_json
from dedup_crawler.rules.miners.decision_tree import Cluster, Transformation, TreeRow, clusters_of, rules_of_rows
from dedup_crawler.rules.miners.mapped_crawl import MappedCrawl, key_pattern_of
from dedup_crawler.spark.session import batched, records
from dedup_crawler.urls.keyvalue import UrlMap, learn_cuts

URLS = pa.schema([("host", pa.string()), ("position", pa.int64()), ("url", pa.string()), ("cluster", pa.int64())])
"""Columns of the input: URLs in normal form, their position in the crawl, and the page that each shows."""

CLUSTERS = pa.schema(
    [
        ("host", pa.string()),
        ("position", pa.int64()),  # of the cluster in the crawl
        ("cluster", pa.int64()),
        ("urls", pa.string()),  # JSON: keys and values of each URL, and the clusters that have its key pattern
        ("constants", pa.string()),  # JSON: those of the keys and values above that many URLs of the host have
        ("cuts", pa.string()),  # JSON: how the values of the host are cut
    ]
)
PAIRS = pa.schema(
    [
        ("host", pa.string()),
        ("position", pa.int64()),
        ("number", pa.int64()),  # in the cluster
        ("context", pa.string()),  # JSON: keys and values of the source
        ("transformation", pa.string()),  # as in rules.json; empty if the URL stays
        ("cuts", pa.string()),
    ]
)
RULES = pa.schema([("host", pa.string()), ("rules", pa.string()), ("cuts", pa.string())])
"""Columns of trees and of the result: a host, its ``rules.json`` and its entry of ``deep_keys.json``."""


def decision_tree_rules(urls: DataFrame, method: DecisionTree) -> DataFrame:
    """Rules of all hosts of *urls*, which has the columns of :data:`URLS`; *method* holds the options."""
    return rules_frame(urls, trees_frame(pairs_frame(clusters_frame(urls), method), method), method)


def clusters_frame(urls: DataFrame) -> DataFrame:
    """Stage 1, by host: read the URLs into keys and values, and say what their clusters need to know of the host."""

    def tokenized(table: pa.Table) -> pa.Table:
        host, its_urls, clusters = _crawl_of(table)
        cuts = learn_cuts(MappedCrawl(host, its_urls, clusters).maps)
        deep = UrlMap(cuts)
        shared = {"host": host, "cuts": json.dumps(deep.to_json())}
        found = clusters_of(MappedCrawl(host, its_urls, clusters, deep))
        rows = [{**shared, "position": position, **_columns(each)} for position, each in enumerate(found)]
        return pa.Table.from_pylist(rows, CLUSTERS)

    return urls.groupBy("host").applyInArrow(tokenized, from_arrow_schema(CLUSTERS))


def pairs_frame(clusters: DataFrame, method: DecisionTree) -> DataFrame:
    """Stage 2, cluster by cluster: pairwise rules, and rows of URLs that stay."""

    def pairs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batched((pair for row in records(batches) for pair in _pairs_of(row, method.seed)), PAIRS)

    return clusters.repartition("host", "cluster").mapInArrow(pairs, from_arrow_schema(PAIRS))


def trees_frame(pairs: DataFrame, method: DecisionTree) -> DataFrame:
    """Stage 3, by host: the rules of the leaves."""

    def tree(table: pa.Table) -> pa.Table:
        ordered = table.sort_by([("position", "ascending"), ("number", "ascending")]).to_pylist()
        known: dict[str, Transformation] = {}
        rows = [TreeRow(json.loads(row["context"]), _transformation(row, known)) for row in ordered]
        host, cuts = ordered[0]["host"], ordered[0]["cuts"]
        rules = json.dumps(rules_to_json(rules_of_rows(host, rows, method.name)))
        return pa.Table.from_pylist([{"host": host, "rules": rules, "cuts": cuts}], RULES)

    return pairs.groupBy("host").applyInArrow(tree, from_arrow_schema(RULES))


def rules_frame(urls: DataFrame, trees: DataFrame, method: DecisionTree) -> DataFrame:
    """Stage 4, by host: count the rules on the URLs, drop those that are wrong too often, and select."""

    def selected(table: pa.Table, found: pa.Table) -> pa.Table:
        (tree,) = found.to_pylist()
        deep = UrlMap.from_json(JsonValue(json.loads(tree["cuts"]), "cuts"))
        kept = method.chosen(_rules_of(json.loads(tree["rules"])), MappedCrawl(*_crawl_of(table), deep))
        row = {
            "host": tree["host"],
            "rules": json.dumps(rules_to_json(kept)),
            "cuts": json.dumps(deep.needed_by({key for rule in kept for key in rule.spoken()}).to_json()),
        }
        return pa.Table.from_pylist([row], RULES)

    both = urls.groupBy("host").cogroup(trees.groupBy("host"))
    return both.applyInArrow(selected, from_arrow_schema(RULES))


def _crawl_of(table: pa.Table) -> tuple[str, list[str], list[int]]:
    """Host, URLs and clusters of a table of URLs, in crawl order."""
    ordered = table.sort_by("position")
    return ordered["host"][0].as_py(), ordered["url"].to_pylist(), ordered["cluster"].to_pylist()


def _columns(cluster: Cluster) -> dict[str, Any]:
    votes = [cluster.votes.get(key_pattern_of(values, cluster.constants), 0) for values in cluster.maps]
    constants = cluster.constants & {item for values in cluster.maps for item in values.items()}
    return {
        "cluster": cluster.number,
        "urls": json.dumps(list(zip(cluster.maps, votes, strict=True))),
        "constants": json.dumps(sorted(constants, key=repr)),
    }


def _pairs_of(row: dict[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    maps, votes = zip(*json.loads(row["urls"]), strict=True)
    constants = frozenset((key, value) for key, value in json.loads(row["constants"]))
    votes_of = {key_pattern_of(values, constants): n for values, n in zip(maps, votes, strict=True)}
    shared = {name: row[name] for name in ("host", "position", "cuts")}
    for number, (context, done) in enumerate(Cluster(row["cluster"], maps, votes_of, constants).rows(seed=seed)):
        said = rules_to_json([Rule(row["host"], {}, dict(done))])[0]["transformation"] if done else {}
        yield {**shared, "number": number, "context": json.dumps(context), "transformation": json.dumps(said)}


def _transformation(row: dict[str, Any], known: dict[str, Transformation]) -> Transformation:
    """Transformation of a pairwise rule; *known* are those read before."""
    said = row["transformation"]
    if said not in known:
        rules = [{"host": row["host"], "transformation": json.loads(said)}] if said != "{}" else []
        known[said] = frozenset(change for rule in _rules_of(rules) for change in rule.transformation.items())
    return known[said]


def _rules_of(said: Any) -> list[Rule]:
    return [rule for rule in rules_from_json(JsonValue(said, "rules")) if isinstance(rule, Rule)]
