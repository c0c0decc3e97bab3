"""The models of a crawl by host: one model folder, or a folder of them of which only those in use are in memory.

In a folder of models each is named by its host, as ``dedup-crawler train`` names them, and answers for that host alone.
Which folders there are is looked up once: hosts that strangers make up never touch the file system.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from dedup_crawler.errors import DedupError, ModelError
from dedup_crawler.methods import Canonicalizer, load_model
from dedup_crawler.methods.model.folder import DESCRIPTION, folder_name
from dedup_crawler.methods.static_front import StaticFront

if TYPE_CHECKING:
    from dedup_crawler.rules.static_rules.layer import StaticLayer

logger = logging.getLogger(__name__)

MAX_MODELS = 32
"""Models in memory."""
_PAUSE = 0.05  # seconds, after which a folder that is being replaced is there again


class ModelShelf:
    """Gives out the model of a host, or None where there is none to use.

    Parameters
    ----------
    path
        A model folder, or a folder of model folders.
    max_models
        How many of them are kept in memory; those that were not asked for the longest are put back.
    may_be_empty
        A folder that is missing or empty has no models yet.
    layer
        Static rules to put in front of every model.

    Raises
    ------
    DedupError
        If *path* is no such folder, or the one model in it cannot be used.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        max_models: int = MAX_MODELS,
        may_be_empty: bool = False,
        layer: StaticLayer | None = None,
    ) -> None:
        self.path = Path(path)
        self.layer = layer
        self._max_models = max_models
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
        """Hosts of a single model; in a folder of models none is known before it is asked for."""
        return self._single.hosts if self._single is not None else frozenset()

    def of(self, host: str) -> Canonicalizer | None:
        """The model for URLs of *host* (with port, lower-case); loaded where it is not in memory.

        One that cannot be read, or does not know the host that it is named by, is reported once and never used.
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
        """Folder of the model of *host*, whether it can be used or not; None for unknown hosts."""
        if self._single is not None:
            return self.path if host in self._single.hosts else None
        return self.path / folder_name(host) if folder_name(host) in self._names else None

    def _behind_layer(self, model: Canonicalizer) -> Canonicalizer:
        return StaticFront(model, self.layer) if self.layer is not None else model

    def _load(self, name: str, host: str) -> Canonicalizer | None:
        """The model in the folder *name*, which is to know *host*."""
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
        if len(self._loaded) > self._max_models:
            self._loaded.popitem(last=False)
        return model


def _model_names(path: Path) -> frozenset[str]:
    """Names of the folders in *path*, of which one at least is a model."""
    # a model that is just being written lies in a hidden folder beside its place
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
        time.sleep(_PAUSE)  # it may be in the middle of being replaced
        return load_model(folder)
