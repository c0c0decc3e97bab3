"""Facts for a bug report: versions, extras, torch, a crawl database, a model; without passwords and page contents."""

from __future__ import annotations

import os
import platform
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from dedup_crawler import __version__
from dedup_crawler.errors import DedupError
from dedup_crawler.methods import load_model
from dedup_crawler.methods.model.folder import DESCRIPTION
from dedup_crawler.pages.database import shown_location
from dedup_crawler.pages.store import PageStore

_DISTRIBUTION = "dedup-crawler"
_FOR_DEVELOPERS = frozenset({"docs", "lint", "release", "test"})
_MAX_MODELS = 20


@dataclass
class Checkup:
    """Findings; *problems* has a line for each problem."""

    version: str = __version__
    python: str = f"{platform.python_implementation()} {platform.python_version()}"
    platform: str = f"{platform.system()} {platform.release()} {platform.machine()}"
    cores: int = os.cpu_count() or 1
    packages: dict[str, str] = field(default_factory=dict)
    """Required package -> installed version."""
    extras: dict[str, list[str]] = field(default_factory=dict)
    """Extra -> its missing packages."""
    torch: dict[str, Any] | str | None = None
    """Versions and devices; the error if torch cannot be imported; None if it is not installed."""
    database: dict[str, Any] | None = None
    models: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[tuple[str, str]]:
        """The name of each thing, and what was found."""
        yield "dedup-crawler", self.version
        yield "python", self.python
        yield "platform", f"{self.platform}, {self.cores} cores"
        yield from self.packages.items()
        for extra, missing in self.extras.items():
            way_out = f"lacks {', '.join(missing)}: pip install 'dedup-crawler[{extra}]'"
            yield f"extra {extra}", way_out if missing else "complete"
        yield "torch", _said(self.torch) if isinstance(self.torch, dict) else self.torch or "not installed"
        if self.database is not None:
            yield "database", _said(self.database)
        yield from (("model", _said(model)) for model in self.models)
        yield from (("problem", problem) for problem in self.problems)


def look_around(database: str | None, models: Path | None) -> Checkup:
    """Look at the installed packages, at a crawl database, and at a model or all models in a folder."""
    found = Checkup()
    _look_at_packages(found)
    _look_at_torch(found)
    if database is not None:
        found.database = {"name": shown_location(database)}
        try:
            with PageStore(database, create=False) as store:
                found.database |= asdict(store.overview())
        except DedupError as error:
            found.problems.append(f"database {error}")
        if "://" not in database and Path(database).is_file():
            found.database["bytes"] = Path(database).stat().st_size
    if models is not None:
        inner = [] if (models / DESCRIPTION).exists() else sorted(models.glob(f"*/{DESCRIPTION}"))
        for folder in [path.parent for path in inner[:_MAX_MODELS]] or [models]:
            found.models.append({"folder": str(folder)})
            try:
                model = load_model(folder)
            except DedupError as error:
                found.problems.append(f"model {error}")
                continue
            found.models[-1] |= {"method": model.name, "hosts": sorted(model.hosts), "urls": model.n_urls_}
            found.models[-1] |= {"pages": model.n_clusters_, "size": model.n_learnt(), "digest": model.digest[:12]}
    return found


def _look_at_packages(found: Checkup) -> None:
    """Compare the installed packages with those that the distribution requires."""
    try:
        lines = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        lines = []
    for line in lines:
        requirement, marked = Requirement(line), re.search(r"""extra == ['"](\w+)['"]""", line)
        extra = marked[1] if marked else None
        is_for_here = requirement.marker is None or requirement.marker.evaluate({"extra": extra or ""})
        if extra in _FOR_DEVELOPERS or not is_for_here:
            continue
        version: str | None = None
        with suppress(metadata.PackageNotFoundError):
            version = metadata.version(requirement.name)
        is_usable = version is not None and requirement.specifier.contains(version, prereleases=True)
        if version is not None:
            found.packages[requirement.name] = version
        wanted = f"{requirement.name}{requirement.specifier}"
        if extra is not None:
            found.extras.setdefault(extra, []).extend([] if is_usable else [wanted])
        elif not is_usable:
            found.problems.append(f"{wanted} is needed, found {version or 'none'}: pip install '{wanted}'")
    if not found.packages:
        found.problems.append(f"{_DISTRIBUTION} is not installed: pip install {_DISTRIBUTION}")
    found.packages["SQLite"] = sqlite3.sqlite_version
    found.packages.pop("torch", None)  # it has its own line


def _look_at_torch(found: Checkup) -> None:
    """Ask torch, if it is installed, for its devices."""
    if find_spec("torch") is None:
        return
    try:
        import torch
    except (ImportError, OSError) as error:  # a shared library is missing, or was built for another machine
        found.torch = " ".join(str(error).split()) or type(error).__name__
        found.problems.append(f"torch is installed and cannot be imported: {found.torch}")
        return
    found.torch = {
        "version": torch.__version__,
        "cuda": torch.version.cuda,
        "devices": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())],
        "threads": torch.get_num_threads(),
    }


def _said(facts: Mapping[str, Any]) -> str:
    """Facts as one line that begins with the first one, a name."""
    first, *rest = facts.items()
    said = ", ".join(
        f"{name.removeprefix('n_')} {' '.join(map(str, value)) or 'none' if isinstance(value, list) else value}"
        for name, value in rest
    )
    return f"{first[1]}: {said}" if said else str(first[1])
