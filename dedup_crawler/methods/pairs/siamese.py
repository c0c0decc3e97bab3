"""The Siamese LSTM of the capstone of 2018: as published, and with its faults cured.

M. Lazem, "Detecting duplicate URLs", capstone of the Machine Learning Nanodegree, 2018 (report and code). One LSTM
encodes both URLs, and a small network compares the two encodings. The preset ``paper`` is that code: 10 epochs over
all pairs, and a threshold of 0.5.

The preset ``cured`` differs where that code fails on new URLs:

* Padding and unknown symbols have numbers of their own, padding is not read, and a long URL is cut.
* A URL is read as symbols. An id is read as its rank among the ids of the site, and ids are hidden now and then, so
  that the network does not learn them by heart. It also gets numbers that say how the two URLs agree
  (:mod:`dedup_crawler.urls.agreement`).
* The head is symmetric: it sees |a - b| and a * b.
* A first network is trained without the held-out pairs, and the threshold is tuned on these; for a crawl, precision
  counts more than recall. Then a committee of three networks is trained on all pairs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dedup_crawler.errors import BadInputError, MissingExtraError
from dedup_crawler.json_values import JsonValue
from dedup_crawler.methods.model.explanations import MAX_CURVES, Curve, HeldOut, TrainingHistory, curve, held_out
from dedup_crawler.methods.model.folder import WEIGHTS, ModelFiles
from dedup_crawler.methods.pairs.classifier import PairClassifier
from dedup_crawler.methods.pairs.url_pairs import UrlPair, cut_by_url
from dedup_crawler.networks.pair_inference import (
    Alphabet,
    Array,
    Committee,
    NumpyCuredSiamese,
    NumpyPaperSiamese,
    dump_weights,
    load_weights,
)
from dedup_crawler.urls.agreement import PLACES, UrlReader

_PRESETS: dict[str, dict[str, Any]] = {
    "cured": {
        "hidden": 48,
        "embedding": 32,
        "learning_rate": 2e-3,
        "batch_size": 64,
        "epochs": 10,
        "weight_decay": 0.02,
        "falls": True,
        "members": 3,
    },
    "paper": {"hidden": 256, "embedding": 100, "learning_rate": 1e-3, "batch_size": 256, "epochs": 10, "members": 1},
}
_FILE = "symbols.json"
_PAIRS_AT_ONCE = 64
_MAX_SYMBOLS, _MAX_CHARACTERS = 48, 400  # longer URLs are cut


@dataclass(kw_only=True, eq=False, repr=False)
class Siamese(PairClassifier):
    """Decides on pairs of URLs with an LSTM that reads both.

    Parameters
    ----------
    preset
        ``"cured"``, or ``"paper"`` for the capstone as published. It gives the options that are not set.
    hidden
        Units of the LSTM.
    epochs
        Passes over all training pairs.
    members
        Number of networks in the committee.
    recall_weight
        Weight of recall beside precision when the threshold is tuned (the beta of the F measure). If not set, it is
        1 for labelled pairs and 0.1 for a crawl, where a wrong answer loses a page.
    max_pairs
        Largest number of pairs that are drawn from a crawl.
    seed
        The same seed gives the same model, byte for byte, on the CPU.
    device
        ``"cpu"`` or ``"cuda"``, for training only.
    """

    name = "siamese"
    _presets: ClassVar = _PRESETS
    _least: ClassVar = {"hidden": 1, "epochs": 1, "members": 1, "max_pairs": 2}

    preset: str = "cured"
    hidden: int | None = None
    epochs: int | None = None
    members: int | None = None
    recall_weight: float | None = None
    max_pairs: int = 20_000
    seed: int = 0
    device: str = "cpu"

    def _check_options(self) -> None:
        super()._check_options()
        if self.recall_weight is not None and not self.recall_weight > 0:
            raise BadInputError(f"siamese: recall_weight is {self.recall_weight}; it has to be above 0.")

    def _learn(self, pairs: Sequence[UrlPair], recall_weight: float) -> None:
        urls = list(dict.fromkeys(url for pair in pairs for url in pair[:2]))
        self.reader_ = PairReader.learn(urls, is_cured=self._is_cured)
        self.threshold_ = 0.5
        curves: list[Curve] = []
        judged = self._judged(pairs, self.recall_weight or recall_weight, curves) if self._is_cured else None
        if judged is not None:
            self.threshold_ = judged.threshold
        members = range(self._option("members"))
        self._use([self._trained(pairs, member, f"network {member + 1}", curves) for member in members])
        self.history_ = TrainingHistory(tuple(curves[:MAX_CURVES]), judged)

    def _learn_nothing(self) -> None:
        self.weights_ = b""

    def _judged(self, pairs: Sequence[UrlPair], recall_weight: float, curves: list[Curve]) -> HeldOut | None:
        """Answers of a first network about held-out pairs, with the best threshold for them."""
        seen, new = cut_by_url(pairs, self.seed)
        if not seen or not new:
            return None
        self._use([self._trained(seen, self._option("members"), "first network", curves)])
        found = self._probabilities([pair[:2] for pair in new])
        is_same = [pair.is_duplicate for pair in new]
        return held_out(found, is_same, best_threshold(np.array(found), np.array(is_same), recall_weight))

    def _trained(self, pairs: Sequence[UrlPair], member: int, name: str, curves: list[Curve]) -> dict[str, Array]:
        """Train one network and return its weights; its learning curves are appended to *curves*."""
        try:
            from dedup_crawler.networks import siamese_network as networks
        except ImportError as error:
            raise MissingExtraError("training siamese", "torch", "train") from error
        reader, kind = self.reader_, networks.CuredSiamese if self._is_cured else networks.PaperSiamese
        options = {name: self._option(name) for name in _PRESETS[self.preset] if name != "members"}
        recipe = networks.PairRecipe(**options, hidden_symbols=reader.hidden_symbols)
        places: dict[str, int] = {}
        left = np.array([places.setdefault(pair.left, len(places)) for pair in pairs], dtype=np.int64)
        right = np.array([places.setdefault(pair.right, len(places)) for pair in pairs], dtype=np.int64)
        fit = networks.train_pairs(
            lambda: kind(*reader.sizes, recipe.hidden, recipe.embedding),
            networks.PairRows(reader.rows(list(places)), left, right, reader.agreement([pair[:2] for pair in pairs])),
            np.array([pair.is_duplicate for pair in pairs], dtype=np.int64),
            recipe,
            seed=self.seed + 1_000 * member,
            device=self.device,
            progress=self._counted(member),
        )
        curves += [
            curve(name, "loss", list(enumerate(fit.losses, 1))),
            curve(name, "share answered right", list(enumerate(fit.accuracies, 1))),
        ]
        return fit.weights

    def _counted(self, member: int) -> Any:
        """Progress over all trained networks; the one that tunes the threshold comes first."""
        if self.progress is None or not self._is_cured:
            return self.progress
        n_trained = self._option("members") + 1
        report, before = self.progress, (member + 1) % n_trained
        return lambda epoch, epochs, accuracy: report(before * epochs + epoch, n_trained * epochs, accuracy)

    def _probabilities(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        found: list[float] = []
        for start in range(0, len(pairs), _PAIRS_AT_ONCE):
            batch = pairs[start : start + _PAIRS_AT_ONCE]
            encoded = self._network.encoded(url for pair in batch for url in pair)
            left, right = (np.stack([encoded[pair[side]] for pair in batch]) for side in (0, 1))
            found += self._network.compare(left, right, self.reader_.agreement(batch)).tolist()
        return found

    def _use(self, members: Sequence[dict[str, Array]]) -> None:
        self.weights_ = dump_weights(
            {f"{i}.{name}": array for i, weights in enumerate(members) for name, array in weights.items()}
        )
        self._wake()

    def _wake(self) -> None:
        """Load the weights into numpy networks."""
        members: dict[str, dict[str, Array]] = defaultdict(dict)
        for name, array in sorted(load_weights(self.weights_).items()):
            member, _, its = name.partition(".")
            members[member][its] = array
        if not members:
            raise BadInputError("weights.safetensors is empty.")
        kind = NumpyCuredSiamese if self._is_cured else NumpyPaperSiamese
        networks = [kind(weights, *self.reader_.sizes) for weights in members.values()]
        self._network = Committee(networks, self.reader_.rows)

    @property
    def _is_cured(self) -> bool:
        return self.preset == "cured"

    def n_learnt(self) -> int | None:
        """Number of parameters of all networks."""
        return sum(array.size for array in load_weights(self.weights_).values()) if self.weights_ else None

    def _tables(self) -> dict[str, Any]:
        if not self.weights_:
            return super()._tables()
        return {**super()._tables(), _FILE: self.reader_.table(), WEIGHTS: self.weights_}

    def _restore(self, files: ModelFiles) -> None:
        super()._restore(files)
        self.weights_ = files.tables.get(WEIGHTS, b"")
        if not self.weights_:
            if self.threshold_ is not None:
                raise BadInputError("the weights of the network are missing.")
            return
        self.reader_ = PairReader.from_table(files.table(_FILE), is_cured=self._is_cured)
        self._wake()


class PairReader:
    """Reads the two URLs of a pair as characters, or as the symbols that *symbol_reader* reads, if there is one."""

    def __init__(self, alphabet: Alphabet, symbol_reader: UrlReader | None) -> None:
        self.alphabet, self._symbol_reader = alphabet, symbol_reader
        self.n_agreements = 0 if symbol_reader is None else symbol_reader.n_agreements
        self.sizes = alphabet.size, alphabet.length if symbol_reader is None else self.n_agreements
        """Number of symbols; and length of a row, or of an agreement if the network gets one."""
        self.hidden_symbols = () if symbol_reader is None else tuple(alphabet.numbers(PLACES))
        """Numbers of the symbols for ids, which training hides now and then."""

    @classmethod
    def learn(cls, urls: Sequence[str], *, is_cured: bool) -> PairReader:
        """Learn the characters, or the symbols, of distinct *urls*."""
        if not is_cured:
            return cls(Alphabet.of(urls, _MAX_CHARACTERS, is_faulty=True), None)
        reader = UrlReader.learn(urls)
        return cls(Alphabet.of([*map(reader.symbols, urls), PLACES], _MAX_SYMBOLS), reader)

    @classmethod
    def from_table(cls, table: JsonValue, *, is_cured: bool) -> PairReader:
        """Read the result of :meth:`table`; BadInputError if *table* is not one."""
        alphabet = Alphabet.from_json(table, is_faulty=not is_cured)
        return cls(alphabet, UrlReader(table["tokens"].texts(), table["numbers"].integers()) if is_cured else None)

    def table(self) -> dict[str, Any]:
        """The reader as a table of the model folder."""
        reader = self._symbol_reader
        read = {"tokens": sorted(reader.tokens), "numbers": reader.numbers} if reader is not None else {}
        return {**self.alphabet.to_json(), **read}

    def rows(self, urls: Sequence[str]) -> Array:
        """Numbers of characters or symbols: (U, T) int64."""
        reader = self._symbol_reader
        return self.alphabet.rows(urls if reader is None else [reader.symbols(url) for url in urls])

    def agreement(self, pairs: Sequence[tuple[str, str]]) -> Array:
        """Agreement of the two URLs of each pair: (P, n_agreements) float32."""
        reader = self._symbol_reader
        found = [[] if reader is None else reader.agreement(*pair) for pair in pairs]
        return np.array(found, dtype=np.float32).reshape(len(pairs), self.n_agreements)


def best_threshold(probabilities: Array, is_same: Array, recall_weight: float) -> float:
    """The threshold with the highest F measure, halfway between two answers; 0.5 without duplicates.

    *probabilities* (N,) are 0-1, *is_same* (N,) is bool. Recall counts *recall_weight* (beta) times as much as
    precision.

    >>> best_threshold(np.array([0.1, 0.6, 0.7, 0.9]), np.array([False, False, True, True]), 0.5)
    0.65
    """
    n_same = int(is_same.sum())
    if not n_same:
        return 0.5
    order = np.argsort(-probabilities, kind="stable")
    answers, n_right = probabilities[order], np.cumsum(is_same[order])  # (N,), for a threshold below each answer
    n_called = np.arange(1, len(answers) + 1)
    square = recall_weight**2
    f_measure = (1 + square) * n_right / (n_called + square * n_same)
    # no threshold lies between equal answers
    f_measure[:-1][answers[1:] == answers[:-1]] = -1.0
    last = int(np.argmax(f_measure))
    below = answers[last + 1] if last + 1 < len(answers) else 0.0
    return round(float(answers[last] + below) / 2, 4)
