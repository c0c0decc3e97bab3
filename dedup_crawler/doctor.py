"""Facts for a bug report: versions, extras, torch, a crawl database, a model. No password and no page gets into it."""

from __future__ import annotations

import os
import platform
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dedup_crawler import __version__
from dedup_crawler.errors import DedupError
from dedup_crawler.methods import load_model
from dedup_crawler.methods.model.folder import DESCRIPTION
from dedup_crawler.networks.device import TorchFacts, torch_facts
from dedup_crawler.pages.store import PageStore
from dedup_crawler.pages.store.addresses import shown_location

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_DISTRIBUTION = "dedup-crawler"
_FOR_DEVELOPERS = frozenset({"docs", "lint", "release", "test"})
_MAX_MODELS = 20


@dataclass
class Checkup:
    """Findings; *problems* has a line for each thing that cannot work."""

    version: str
    python: str
    platform: str
    cores: int
    packages: dict[str, str] = field(default_factory=dict)
    """Required package -> installed version."""
    extras: dict[str, list[str]] = field(default_factory=dict)
    """Extra -> what it lacks."""
    torch: TorchFacts | str | None = None
    database: dict[str, Any] | None = None
    models: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def check_up(database: str | None, model: Path | None) -> Checkup:
    """Look at the installation and, where they are given, at a database and at a model folder (or a folder of them)."""
    checkup = Checkup(
        version=__version__,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        cores=os.cpu_count() or 1,
    )
    _check_packages(checkup)
    checkup.packages["SQLite"] = sqlite3.sqlite_version
    checkup.torch = torch_facts()
    checkup.packages.pop("torch", None)  # it has a line of its own
    if isinstance(checkup.torch, str):
        checkup.problems.append(f"torch is installed and cannot be imported: {checkup.torch}")
    if database is not None:
        _check_database(checkup, database)
    if model is not None:
        _check_models(checkup, model)
    return checkup


def _check_packages(checkup: Checkup) -> None:
    needed = list(_requirements())
    if not needed:
        checkup.problems.append(f"{_DISTRIBUTION} is not installed: pip install {_DISTRIBUTION}")
    for requirement, extra in needed:
        found = _installed(requirement.name)
        is_usable = found is not None and requirement.specifier.contains(found, prereleases=True)
        if found is not None:
            checkup.packages[requirement.name] = found
        lacks = f"{requirement.name}{requirement.specifier}"
        if extra is not None:
            missing = checkup.extras.setdefault(extra, [])
            if not is_usable:
                missing.append(lacks)
        elif not is_usable:
            checkup.problems.append(f"{lacks} is needed, found {found or 'none'}: pip install '{lacks}'")


def _requirements() -> Iterator[tuple[Requirement, str | None]]:
    """Packages that the installed package needs on this machine, each with its extra."""
    from packaging.requirements import Requirement

    try:
        lines = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return
    for line in lines:
        requirement = Requirement(line)
        extra = re.search(r"""extra == ['"](\w+)['"]""", line)
        name = extra[1] if extra is not None else None
        if name in _FOR_DEVELOPERS:
            continue
        if requirement.marker is None or requirement.marker.evaluate({"extra": name or ""}):
            yield requirement, name


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _check_database(checkup: Checkup, location: str) -> None:
    checkup.database = {"name": shown_location(location)}
    try:
        with PageStore(location, create=False) as store:
            checkup.database |= asdict(store.overview())
    except DedupError as error:
        checkup.problems.append(f"database {error}")
    if "://" not in location and Path(location).is_file():
        checkup.database["bytes"] = Path(location).stat().st_size


def _check_models(checkup: Checkup, folder: Path) -> None:
    folders = [folder]
    if folder.is_dir() and not (folder / DESCRIPTION).exists():
        folders = sorted(path.parent for path in folder.glob(f"*/{DESCRIPTION}"))[:_MAX_MODELS] or [folder]
    for each in folders:
        found: dict[str, Any] = {"folder": str(each)}
        checkup.models.append(found)
        try:
            model = load_model(each)
        except DedupError as error:
            checkup.problems.append(f"model {error}")
            continue
        found |= {
            "method": model.name,
            "hosts": sorted(model.hosts),
            "urls": model.n_urls_,
            "pages": model.n_clusters_,
            "size": model.n_learnt(),
            "digest": model.digest[:12],
        }
