"""Common parts of both trainings: a device, and numbers that depend on nothing but the seed.

On the CPU, the same seed gives the same weights, bit for bit (one thread, deterministic kernels).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from dedup_crawler.errors import BadInputError

Progress = Callable[[int, int, float], None]
"""Called with the number of the epoch, the largest number of epochs, and the share (0-1) of right answers."""


@contextmanager
def reproducible(device: str, seed: int) -> Iterator[torch.device]:
    """Seed torch for a training, and leave its random state as it was; BadInputError if *device* is not available."""
    try:
        place = torch.device(device)
    except RuntimeError as error:
        raise BadInputError(f"unknown device {device!r}; use cpu, or cuda on a machine with an NVIDIA card.") from error
    if place.type == "cuda" and not torch.cuda.is_available():
        raise BadInputError(f"device {device!r} was asked for, but torch sees no CUDA here; use --device cpu.")
    with torch.random.fork_rng(devices=[place] if place.type == "cuda" else []), one_thread():
        torch.manual_seed(seed)
        yield place


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch with one thread: two are much slower on a busy machine, and change the sums."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)
