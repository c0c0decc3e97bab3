"""Input of a Siamese network for two URLs.

The network of the capstone of 2018 gets the characters of both URLs. The cured network gets symbols, and numbers that
say how the URLs agree (:mod:`dedup_crawler.urls.agreement`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dedup_crawler.json_values import JsonValue
from dedup_crawler.networks.alphabet import Alphabet, read_alphabet
from dedup_crawler.urls.agreement import PLACES, UrlReader

if TYPE_CHECKING:
    from dedup_crawler.methods.pairs.labelled import UrlPair
    from dedup_crawler.networks.pair_training import PairRows

Array = np.ndarray
_MAX_SYMBOLS, _MAX_CHARACTERS = 48, 400  # longer URLs are cut


class PairReader:
    """Reads URLs as characters, or as symbols.

    Parameters
    ----------
    alphabet
        Numbers of the characters or symbols.
    symbol_reader
        Reads the symbols of a URL; None to read characters.
    """

    def __init__(self, alphabet: Alphabet, symbol_reader: UrlReader | None) -> None:
        self.alphabet, self._symbol_reader = alphabet, symbol_reader
        self.n_agreements = 0 if symbol_reader is None else symbol_reader.n_agreements
        """Length of the agreement of two URLs."""
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
        alphabet = read_alphabet(table, is_faulty=not is_cured)
        return cls(alphabet, UrlReader(table["tokens"].texts(), table["numbers"].integers()) if is_cured else None)

    def table(self) -> dict[str, Any]:
        """The reader as a table of the model folder."""
        table: dict[str, Any] = {"symbols": list(self.alphabet.symbols), "length": self.alphabet.length}
        if self._symbol_reader is not None:
            table |= {"tokens": sorted(self._symbol_reader.tokens), "numbers": self._symbol_reader.numbers}
        return table

    def rows(self, urls: Sequence[str]) -> Array:
        """Numbers of characters or symbols: (U, T) int64."""
        reader = self._symbol_reader
        return self.alphabet.rows(urls if reader is None else [reader.symbols(url) for url in urls])

    def agreement(self, pairs: Sequence[tuple[str, str]]) -> Array:
        """Agreement of the two URLs of each pair: (P, n_agreements) float32."""
        if self._symbol_reader is None:
            return np.zeros((len(pairs), 0), dtype=np.float32)
        return np.array([self._symbol_reader.agreement(*pair) for pair in pairs], dtype=np.float32)

    def pair_rows(self, pairs: Sequence[UrlPair]) -> PairRows:
        """Make the training input of a network; needs torch."""
        from dedup_crawler.networks.pair_training import PairRows

        places: dict[str, int] = {}
        left = np.array([places.setdefault(pair.left, len(places)) for pair in pairs], dtype=np.int64)
        right = np.array([places.setdefault(pair.right, len(places)) for pair in pairs], dtype=np.int64)
        agreement = self.agreement([(pair.left, pair.right) for pair in pairs])
        return PairRows(self.rows(list(places)), left, right, agreement)
