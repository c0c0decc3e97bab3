"""Weights as bytes in the safetensors format: arrays and nothing else, so that reading them runs no code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dedup_crawler.errors import BadInputError, DamagedModelError
from dedup_crawler.json_values import read_json

if TYPE_CHECKING:
    from numpy import ndarray

_MAX_WEIGHT = 1e6  # trained ones are below a hundred; sums of larger ones leave what float32 can hold


def dump_weights(weights: Mapping[str, ndarray]) -> bytes:
    """Write named arrays; the same arrays give the same bytes."""
    from safetensors.numpy import save

    data: bytes = save(dict(sorted(weights.items())))
    return data


def load_weights(data: bytes) -> dict[str, ndarray]:
    """Read what :func:`dump_weights` wrote.

    DamagedModelError if *data* is something else, or holds a number that no trained network has.
    """
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        weights: dict[str, ndarray] = load(data)
    except (SafetensorError, KeyError) as error:  # KeyError: a type of numbers that numpy has not
        raise DamagedModelError(f"weights.safetensors cannot be read: {error}. Train again.") from error
    for name, array in weights.items():
        if array.dtype != np.float32 or not (np.abs(array) <= _MAX_WEIGHT).all():
            raise DamagedModelError(f"weights.safetensors: {name[:80]!r} has numbers that no network has. Train again.")
    return weights


def n_parameters(data: bytes) -> int:
    """Count the numbers in what :func:`dump_weights` wrote, by its header alone.

    >>> import numpy
    >>> n_parameters(dump_weights({"matrix": numpy.zeros((3, 2)), "vector": numpy.zeros(2)}))
    8
    """
    header = data[8 : 8 + min(int.from_bytes(data[:8], "little"), len(data))]
    try:
        entries = read_json(header, "weights.safetensors").table()
        return sum(math.prod(entry["shape"].integers()) for name, entry in entries.items() if name != "__metadata__")
    except BadInputError as error:
        raise DamagedModelError(f"{error} Train again.") from None
