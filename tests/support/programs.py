"""Programs that some tests need, such as servers."""

from __future__ import annotations

import os

import pytest


def require(path: str | None, name: str, module: str) -> None:
    """Skip the test without a program or its Python *module*; continuous integration must have the program."""
    if path is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"{name} is not installed")
    pytest.importorskip(module)
