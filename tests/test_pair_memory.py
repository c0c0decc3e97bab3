"""Encodings are made once and forgotten in time."""

import numpy as np

from dedup_crawler.networks import pair_memory
from dedup_crawler.networks.pair_memory import EncodingMemory


class CountingNetwork:
    """Encodes a row as itself and counts the rows."""

    encoding_size = 2

    def __init__(self):
        self.n_encoded = 0

    def encode(self, rows):
        """Rows as they are."""
        self.n_encoded += len(rows)
        return rows.astype(np.float32)


def test_a_key_is_encoded_once_until_it_is_forgotten(monkeypatch):
    """Asked again it costs nothing; beyond the limit the key that was not asked for longest goes."""
    monkeypatch.setattr(pair_memory, "_MAX_BYTES", 3 * 4 * 2)
    network = CountingNetwork()
    memory = EncodingMemory(network, lambda keys: np.array([[int(key), 0] for key in keys]))

    assert {key: row[0] for key, row in memory.encoded(["1", "2", "1", "3"]).items()} == {"1": 1, "2": 2, "3": 3}
    assert network.n_encoded == 3
    memory.encoded(["1", "4"])
    memory.encoded(["1", "3", "4"])
    assert network.n_encoded == 4
    assert memory.encoded(["2"])["2"].tolist() == [2.0, 0.0]
    assert network.n_encoded == 5


def test_more_than_can_be_kept_is_answered_all_the_same(monkeypatch):
    """One batch may be larger than the memory."""
    monkeypatch.setattr(pair_memory, "_MAX_BYTES", 1)
    memory = EncodingMemory(CountingNetwork(), lambda keys: np.array([[int(key), 0] for key in keys]))

    assert len(memory.encoded(map(str, range(9)))) == 9
