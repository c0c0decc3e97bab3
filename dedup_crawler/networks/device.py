"""Choice of the device that torch finds on this machine; torch is imported only where it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TypedDict


class TorchFacts(TypedDict):
    """Its version, and what it can compute on."""

    version: str
    cuda: str | None
    """Version of CUDA that this torch was built for; None for a build without it."""
    devices: list[str]
    """Cards that can be used now."""
    threads: int


def torch_facts() -> TorchFacts | str | None:
    """Ask torch; None where it is not installed, the reason where it cannot be imported."""
    if find_spec("torch") is None:
        return None
    try:
        import torch
    except (ImportError, OSError) as error:  # a library that it needs is missing, or was built for another machine
        return " ".join(str(error).split()) or type(error).__name__
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return TorchFacts(
        version=torch.__version__, cuda=torch.version.cuda, devices=names, threads=torch.get_num_threads()
    )
