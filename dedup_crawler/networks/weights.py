"""Weights as bytes in the safetensors format: arrays and nothing else, so that reading them runs no code."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dedup_crawler.errors import DamagedModelError

if TYPE_CHECKING:
    from numpy import ndarray


def dump_weights(weights: Mapping[str, ndarray]) -> bytes:
    """Write named arrays; the same arrays give the same bytes."""
    from safetensors.numpy import save

    data: bytes = save(dict(sorted(weights.items())))
    return data


def load_weights(data: bytes) -> dict[str, ndarray]:
    """Read what :func:`dump_weights` wrote.

    Raises
    ------
    DamagedModelError
        If *data* is something else.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        weights: dict[str, ndarray] = load(data)
    except SafetensorError as error:
        raise DamagedModelError(f"weights.safetensors cannot be read: {error}. Train again.") from error
    return weights


def n_parameters(data: bytes) -> int:
    """Count the numbers in what :func:`dump_weights` wrote, by its header alone.

    >>> import numpy
    >>> n_parameters(dump_weights({"matrix": numpy.zeros((3, 2)), "vector": numpy.zeros(2)}))
    8
    """
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return sum(math.prod(entry["shape"]) for name, entry in header.items() if name != "__metadata__")
