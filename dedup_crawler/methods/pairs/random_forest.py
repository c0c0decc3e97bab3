"""The baseline of the capstone of 2018: a random forest over the characters of both URLs.

As in its notebook, four trees of depth four read the padded character numbers of the two URLs side by side, with the
notebook's numbering. scikit-learn trains the forest; ``trees.json`` keeps it as plain tables, which are applied with
numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dedup_crawler.errors import MissingExtraError
from dedup_crawler.json_values import JsonValue
from dedup_crawler.methods.model.explanations import HeldOut, TrainingHistory, held_out
from dedup_crawler.methods.model.folder import ModelFiles
from dedup_crawler.methods.pairs.classifier import PairClassifier
from dedup_crawler.methods.pairs.url_pairs import UrlPair, cut_by_url
from dedup_crawler.networks.pair_inference import Alphabet

_FILE = "trees.json"
_MAX_LENGTH = 1000  # characters of a URL that are used
_THRESHOLD = 0.5


@dataclass(kw_only=True, eq=False, repr=False)
class RandomForest(PairClassifier):
    """Decides on pairs of URLs by their characters, as the baseline of the capstone did.

    Parameters
    ----------
    trees
        Number of trees.
    depth
        Depth of each tree.
    max_pairs
        Largest number of pairs that are drawn from a crawl.
    seed
        The same seed gives the same model, byte for byte.
    """

    name = "random-forest"
    _least: ClassVar = {"trees": 1, "depth": 1, "max_pairs": 2}

    trees: int = 4
    depth: int = 4
    max_pairs: int = 20_000
    seed: int = 0

    def _learn(self, pairs: Sequence[UrlPair], recall_weight: float) -> None:
        urls = [url for pair in pairs for url in pair[:2]]
        self.alphabet_ = Alphabet.of(urls, _MAX_LENGTH, is_faulty=True)
        self.history_ = TrainingHistory(held_out=self._judged(pairs))
        self.forest_ = self._grown(pairs)
        self.threshold_ = _THRESHOLD

    def _judged(self, pairs: Sequence[UrlPair]) -> HeldOut | None:
        """Answers of a first forest about held-out pairs."""
        seen, new = cut_by_url(pairs, self.seed)
        if not new or len({pair.is_duplicate for pair in seen}) < 2:
            return None
        self.forest_ = self._grown(seen)
        found = self._probabilities([pair[:2] for pair in new])
        return held_out(found, [pair.is_duplicate for pair in new], _THRESHOLD)

    def _grown(self, pairs: Sequence[UrlPair]) -> list[_Tree]:
        try:
            from sklearn.ensemble import RandomForestClassifier
        except ImportError as error:
            raise MissingExtraError("training random-forest", "scikit-learn", "learn") from error
        forest = RandomForestClassifier(n_estimators=self.trees, max_depth=self.depth, random_state=self.seed)
        forest.fit(self._rows([pair[:2] for pair in pairs]), [pair.is_duplicate for pair in pairs])
        return [_table_of(tree.tree_) for tree in forest.estimators_]

    def _learn_nothing(self) -> None:
        self.alphabet_, self.forest_ = Alphabet("", 1, is_faulty=True), []

    def _probabilities(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        rows = self._rows(pairs)
        votes = [_leaf_probabilities(tree, rows) for tree in self.forest_]
        mean: list[float] = np.mean(votes, axis=0).tolist()
        return mean

    def _rows(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """Character numbers of both URLs side by side, (P, 2 T)."""
        left, right = ([pair[side] for pair in pairs] for side in (0, 1))
        return np.concatenate([self.alphabet_.rows(left), self.alphabet_.rows(right)], axis=1)

    def _quality(self) -> dict[str, Any]:
        return {**super()._quality(), "leaves": sum(tree["feature"].count(-1) for tree in self.forest_)}

    def _tables(self) -> dict[str, Any]:
        return {**super()._tables(), _FILE: {**self.alphabet_.to_json(), "trees": self.forest_}}

    def _restore(self, files: ModelFiles) -> None:
        super()._restore(files)
        table = files.table(_FILE)
        self.alphabet_ = Alphabet.from_json(table, is_faulty=True)
        self.forest_ = [_checked(tree, 2 * self.alphabet_.length) for tree in table["trees"].values()]
        if self.threshold_ is not None and not self.forest_:
            table["trees"].refuse("at least one tree")


_Tree = dict[str, list[Any]]
_COLUMNS = ("feature", "threshold", "below", "above", "probability")


def _table_of(tree: Any) -> _Tree:
    """A tree as columns with one entry for each node; a leaf has feature -1; below and above are the child nodes."""
    counts = tree.value[:, 0, :]  # (nodes, 2)
    is_leaf = tree.children_left < 0
    columns = (
        np.where(is_leaf, -1, tree.feature),
        np.where(is_leaf, 0.0, tree.threshold),
        np.maximum(tree.children_left, 0),
        np.maximum(tree.children_right, 0),
        counts[:, 1] / counts.sum(axis=1),
    )
    return {name: column.tolist() for name, column in zip(_COLUMNS, columns, strict=True)}


def _leaf_probabilities(tree: _Tree, rows: np.ndarray) -> np.ndarray:
    """Probability at the leaf of each row, (P,)."""
    feature, threshold, below, above, probability = (np.asarray(tree[name]) for name in _COLUMNS)  # (nodes,)
    node = np.zeros(len(rows), dtype=np.int64)  # (P,), the node that each row has reached
    places = np.arange(len(rows))
    while (feature[node] >= 0).any():
        is_below = rows[places, feature[node]] <= threshold[node]
        node = np.where(feature[node] < 0, node, np.where(is_below, below[node], above[node]))
    leaf: np.ndarray = probability[node]
    return leaf


def _checked(tree: JsonValue, n_features: int) -> _Tree:
    """Check a tree from a file: every path must end at a leaf, and every feature must exist."""
    columns: _Tree = {name: tree[name].integers() for name in ("below", "above")}
    columns |= {name: tree[name].numbers() for name in ("threshold", "probability")}
    columns["feature"] = features = tree["feature"].integers(-1, n_features - 1)
    n_nodes = len(features)
    if not n_nodes or any(len(column) != n_nodes for column in columns.values()):
        tree.refuse("columns of one length")
    for node, (feature, below, above) in enumerate(zip(features, columns["below"], columns["above"], strict=True)):
        if feature >= 0 and not (node < below < n_nodes and node < above < n_nodes):
            tree.refuse(f"children behind their node, but node {node} has others")
    return columns
