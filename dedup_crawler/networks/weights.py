"""Weights as bytes in the safetensors format: arrays and nothing else, so that reading them runs no code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dedup_crawler.errors import BadInputError, DamagedModelError
from dedup_crawler.json_values import read_json

if TYPE_CHECKING:
    from numpy import ndarray

_MAX_WEIGHT = 1e6  # trained weights are below a hundred; sums of larger ones may overflow float32


def dump_weights(weights: Mapping[str, ndarray]) -> bytes:
    """Write named arrays; the same arrays give the same bytes."""
    from safetensors.numpy import save

    data: bytes = save(dict(sorted(weights.items())))
    return data


def load_weights(data: bytes) -> dict[str, ndarray]:
    """Read the result of :func:`dump_weights`; DamagedModelError for other data, or for impossible numbers."""
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        weights: dict[str, ndarray] = load(data)
    except (SafetensorError, KeyError) as error:  # KeyError: a number type that numpy does not have
        raise DamagedModelError(f"weights.safetensors cannot be read: {error}. Train again.") from error
    for name, array in weights.items():
        if array.dtype != np.float32 or not (np.abs(array) <= _MAX_WEIGHT).all():
            raise DamagedModelError(f"weights.safetensors: {name[:80]!r} has impossible numbers. Train again.")
    return weights


def n_parameters(data: bytes) -> int:
    """Count the parameters in a result of :func:`dump_weights`, from its header.

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
