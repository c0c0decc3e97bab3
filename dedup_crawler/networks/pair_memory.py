"""Encodings that were made lately, within a fixed number of bytes: a crawl asks about the same URLs again and again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from dedup_crawler.networks.pair_inference import PairNetwork

Array = np.ndarray
_MAX_BYTES = 1 << 26


class EncodingMemory:
    """Encodes by key, and forgets the key that was not asked for longest.

    Parameters
    ----------
    network
        What encodes.
    rows_of
        Keys -> their rows of symbol numbers (U, T).
    """

    def __init__(self, network: PairNetwork, rows_of: Callable[[Sequence[str]], Array]) -> None:
        self._network, self._rows_of = network, rows_of
        self._max_kept = _MAX_BYTES // (4 * network.encoding_size)
        self._kept: OrderedDict[str, Array] = OrderedDict()

    def encoded(self, keys: Iterable[str]) -> dict[str, Array]:
        """Key -> encoding (K,) of each of *keys*."""
        asked = list(dict.fromkeys(keys))
        found = {key: self._kept.pop(key) for key in asked if key in self._kept}
        new = [key for key in asked if key not in found]
        if new:
            found.update(zip(new, self._network.encode(self._rows_of(new)), strict=True))
        self._kept.update(found)
        while len(self._kept) > self._max_kept:
            self._kept.popitem(last=False)
        return found
