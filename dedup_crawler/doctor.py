"""Facts for a bug report: versions, extras, torch, a crawl database, a model; without passwords and page contents."""

from __future__ import annotations

import os
import platform
import re
import sqlite3
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
from dedup_crawler.pages.store import PageStore
from dedup_crawler.pages.store.database import shown_location

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

    def look_at_packages(self) -> None:
        """Compare the installed packages with those that the distribution requires."""
        for requirement, extra in _requirements():
            found = _installed(requirement.name)
            is_usable = found is not None and requirement.specifier.contains(found, prereleases=True)
            if found is not None:
                self.packages[requirement.name] = found
            missing = [] if is_usable else [f"{requirement.name}{requirement.specifier}"]
            if extra is not None:
                self.extras.setdefault(extra, []).extend(missing)
            else:
                self.problems += [
                    f"{each} is needed, found {found or 'none'}: pip install '{each}'" for each in missing
                ]
        if not self.packages:
            self.problems.append(f"{_DISTRIBUTION} is not installed: pip install {_DISTRIBUTION}")
        self.packages["SQLite"] = sqlite3.sqlite_version
        self.packages.pop("torch", None)  # it has its own line

    def look_at_torch(self) -> None:
        """Ask torch, if it is installed, for its devices."""
        if find_spec("torch") is None:
            return
        try:
            import torch
        except (ImportError, OSError) as error:  # a shared library is missing, or was built for another machine
            self.torch = " ".join(str(error).split()) or type(error).__name__
            self.problems.append(f"torch is installed and cannot be imported: {self.torch}")
            return
        self.torch = {
            "version": torch.__version__,
            "cuda": torch.version.cuda,
            "devices": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())],
            "threads": torch.get_num_threads(),
        }

    def look_at_database(self, location: str) -> None:
        """Count the contents of a crawl database."""
        self.database = {"name": shown_location(location)}
        try:
            with PageStore(location, create=False) as store:
                self.database |= asdict(store.overview())
        except DedupError as error:
            self.problems.append(f"database {error}")
        if "://" not in location and Path(location).is_file():
            self.database["bytes"] = Path(location).stat().st_size

    def look_at_models(self, folder: Path) -> None:
        """Load a model, or all models in a folder."""
        inner = [] if (folder / DESCRIPTION).exists() else sorted(folder.glob(f"*/{DESCRIPTION}"))
        for each in [path.parent for path in inner[:_MAX_MODELS]] or [folder]:
            found: dict[str, Any] = {"folder": str(each)}
            self.models.append(found)
            try:
                model = load_model(each)
            except DedupError as error:
                self.problems.append(f"model {error}")
                continue
            found |= {"method": model.name, "hosts": sorted(model.hosts)}
            found |= {"urls": model.n_urls_, "pages": model.n_clusters_}
            found |= {"size": model.n_learnt(), "digest": model.digest[:12]}


def _requirements() -> list[tuple[Requirement, str | None]]:
    """Return the packages required on this machine, each with its extra."""
    try:
        lines = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []
    extras = [re.search(r"""extra == ['"](\w+)['"]""", line) for line in lines]
    found = [(Requirement(line), extra and extra[1]) for line, extra in zip(lines, extras, strict=True)]
    return [
        (requirement, extra)
        for requirement, extra in found
        if extra not in _FOR_DEVELOPERS
        and (requirement.marker is None or requirement.marker.evaluate({"extra": extra or ""}))
    ]


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
