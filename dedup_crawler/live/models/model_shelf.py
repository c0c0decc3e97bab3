"""The models of a crawl by host: one model folder, or a folder of model folders, loaded when used.

In a folder of models each is named by its host, as ``dedup-crawler train`` names it, and is used for that host only.
The folder is listed once: made-up hosts never reach the file system.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from pathlib import Path

from dedup_crawler.errors import DedupError, ModelError
from dedup_crawler.methods import Canonicalizer, load_model
from dedup_crawler.methods.model.folder import DESCRIPTION, folder_name
from dedup_crawler.methods.wrapped import StaticFront
from dedup_crawler.rules.exchange.static_rules import StaticLayer

logger = logging.getLogger(__name__)

MAX_MODELS = 32
"""Maximum of models in memory; the least recently used are unloaded."""
_PAUSE = 0.05  # seconds; after this time a folder that was being replaced exists again


class ModelShelf:
    """Loads the model of a host, if there is a usable one.

    DedupError if *path* is no such folder, or the one model in it cannot be used.

    Parameters
    ----------
    path
        A model folder, or a folder of model folders.
    may_be_empty
        If True, a missing or empty folder is no error: it has no models yet.
    layer
        Static rules to put in front of every model.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        may_be_empty: bool = False,
        layer: StaticLayer | None = None,
    ) -> None:
        self.path = Path(path)
        self.layer = layer
        self._single: Canonicalizer | None = None
        self._names: frozenset[str] = frozenset()
        self._loaded: OrderedDict[str, Canonicalizer] = OrderedDict()
        self._digests: dict[str, str] = {}
        self._unusable: set[str] = set()
        if may_be_empty and not (self.path.is_dir() and any(self.path.iterdir())):
            return
        if self.path.is_dir() and not (self.path / DESCRIPTION).exists():
            self._names = _model_names(self.path)
        else:
            self._single = self._behind_layer(load_model(self.path))

    @property
    def known_hosts(self) -> frozenset[str]:
        """Hosts of a single model; empty for a folder of models, which are loaded when used."""
        return self._single.hosts if self._single is not None else frozenset()

    def of(self, host: str) -> Canonicalizer | None:
        """Return the model for URLs of *host* (with port, lower-case); load it if needed.

        A model that cannot be read, or does not know the host in its name, is reported once and never used.
        """
        if self._single is not None:
            return self._single if host in self._single.hosts else None
        name = folder_name(host)
        model = self._loaded.get(name)
        if model is not None:
            self._loaded.move_to_end(name)
        elif name in self._names and name not in self._unusable:
            model = self._load(name, host)
        return model if model is not None and host in model.hosts else None

    def folder_of(self, host: str) -> Path | None:
        """Return the model folder of *host*, usable or not; None for unknown hosts."""
        if self._single is not None:
            return self.path if host in self._single.hosts else None
        return self.path / folder_name(host) if folder_name(host) in self._names else None

    def _behind_layer(self, model: Canonicalizer) -> Canonicalizer:
        return StaticFront(model, self.layer) if self.layer is not None else model

    def _load(self, name: str, host: str) -> Canonicalizer | None:
        """Load the model in the folder *name*, which must know *host*."""
        folder = self.path / name
        try:
            model = self._behind_layer(_read(folder))
            if host not in model.hosts:
                known = ", ".join(sorted(model.hosts)) or "no host"
                raise ModelError(f"{folder} holds a model of {known}. Rename the folder, or train one.")
        except DedupError as error:
            self._unusable.add(name)
            logger.error("No duplicates of %s are filtered: %s", host, error)
            return None
        digest = model.digest
        if self._digests.setdefault(name, digest) != digest:
            self._digests[name] = digest
            logger.warning("%s was replaced during the crawl: the new model is used from now on.", folder)
        self._loaded[name] = model
        if len(self._loaded) > MAX_MODELS:
            self._loaded.popitem(last=False)
        return model


def _model_names(path: Path) -> frozenset[str]:
    """Return the names of the folders in *path*, at least one of which is a model."""
    # a model that is being written is in a hidden folder
    folders = [entry for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith(".")]
    if not any((folder / DESCRIPTION).is_file() for folder in folders):
        raise ModelError(
            f"{path} holds neither {DESCRIPTION} nor model folders: "
            f"train one with `dedup-crawler train METHOD --model {path / 'HOST'}`."
        )
    return frozenset(folder.name for folder in folders)


def _read(folder: Path) -> Canonicalizer:
    try:
        return load_model(folder)
    except ModelError:
        time.sleep(_PAUSE)  # it may just be being replaced
        return load_model(folder)
