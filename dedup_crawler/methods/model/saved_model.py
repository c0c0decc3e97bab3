"""Base of every method: its options, by its constructor and the docstring of its class, and its model folder."""

from __future__ import annotations

import inspect
import re
from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args, get_type_hints

from dedup_crawler.errors import BadInputError, DamagedModelError, NotFittedError, did_you_mean
from dedup_crawler.methods.model.folder import ModelFiles, digest_of, read_model, write_model

if TYPE_CHECKING:
    from typing_extensions import Self

_ENTRY = re.compile(r"^ {4}(\w[\w, ]*)\n((?: {8}.*\n?)+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Option:
    """One keyword of a method's constructor."""

    name: str
    kind: type
    """bool, int, float or str."""
    default: Any
    help: str
    is_optional: bool = False
    """True if it may be None."""

    def read(self, text: str) -> Any:
        """Parse a value; BadInputError if *text* is not of the option's type."""
        if self.kind is bool:
            if text.lower() in ("true", "yes", "1", "false", "no", "0"):
                return text.lower() in ("true", "yes", "1")
        else:
            try:
                return self.kind(text)
            except ValueError:
                pass
        raise BadInputError(f"option {self.name}: {text!r} is not of type {self.kind.__name__}.")


def options_of(method: type[object]) -> list[Option]:
    """Options of a method in the order of its constructor."""
    constructor: Any = method.__init__
    hints = get_type_hints(constructor)
    helps = {
        name: " ".join(text.split())
        for names, text in _ENTRY.findall(method.__doc__ or "")
        for name in names.replace(" ", "").split(",")
    }
    found = []
    for name, parameter in inspect.signature(method).parameters.items():
        kinds = get_args(hints[name]) or (hints[name],)  # such as (int, None)
        found.append(Option(name, kinds[0], parameter.default, helps.get(name, ""), type(None) in kinds))
    return found


def check_values(method: type[object], values: Mapping[str, Any]) -> None:
    """Check the options of a saved model; BadInputError for an unknown option or a value of another type."""
    known = {option.name: option for option in options_of(method)}
    for name, value in values.items():
        if name not in known:
            raise BadInputError(f"there is no option {name!r}.{did_you_mean(name, known)}")
        kinds = (int, float) if known[name].kind is float else (known[name].kind,)
        if type(value) not in kinds and not (value is None and known[name].is_optional):
            raise BadInputError(f"option {name} is {value!r}; it has to be of type {known[name].kind.__name__}.")


class SavedModel(ABC):
    """A model with options; a folder holds it as JSON, and as weights if it has a network."""

    name: ClassVar[str]
    """Name on the command line, in model folders and in tables."""

    _least: ClassVar[Mapping[str, float]] = {}
    """Option -> its smallest value."""

    _shares: ClassVar[Sequence[str]] = ()
    """Options that are a share (0-1)."""

    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Value of the option *preset*, if the method has one -> the options that it gives, where they are not set."""

    preset: str

    hosts: frozenset[str] = frozenset()
    """Hosts (with port, lower-case) of the training URLs. URLs of other hosts keep their normal form."""

    n_urls_: int
    n_clusters_: int
    data_digest_: str
    """Digest of the training data; missing before the first fit."""

    quality_: Mapping[str, Any]
    """Measures of the fitted model, for ``model.json``."""

    @property
    def digest(self) -> str:
        """Digest of the whole model and its options: 64 hex digits, as in ``model.json`` of the saved model."""
        self._check_fitted()
        return digest_of(self._description(), ModelFiles(self._tables(), self._weights()))

    def save(self, folder: str | Path) -> Path:
        """Write the model as a folder of JSON (and weights). A reader never sees half of a model."""
        self._check_fitted()
        files = ModelFiles(tables=self._tables(), weights=self._weights())
        return write_model(Path(folder), self._description(), files)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder that :meth:`save` wrote.

        ModelError if the folder is missing, damaged, of a newer format, or of another method.
        """
        return cls.from_files(*read_model(Path(folder), cls.name))

    @classmethod
    def from_files(cls, description: Mapping[str, Any], files: ModelFiles) -> Self:
        """Restore a model from the verified contents of its folder.

        DamagedModelError if a table is missing, or a value in it is impossible.
        """
        try:
            check_values(cls, description["options"])
            model = cls(**description["options"])
            model._check_options()
        except BadInputError as error:
            raise DamagedModelError(f"model.json does not describe a {cls.name} model: {error} Train again.") from error
        model.hosts = frozenset(description["hosts"])
        model.n_urls_ = description["counts"]["urls"]
        model.n_clusters_ = description["counts"]["clusters"]
        model.data_digest_ = description["training_data_digest"]
        model.quality_ = description["quality"]
        try:
            model._restore(files)
        except BadInputError as error:
            raise DamagedModelError(f"{error} Train again.") from error
        return model

    def options(self) -> dict[str, Any]:
        """Options as they were given to the constructor."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def _check_options(self) -> None:
        """Raise BadInputError for an option out of range."""
        if self._presets and self.preset not in self._presets:
            hint = did_you_mean(self.preset, self._presets)
            known = ", ".join(self._presets)
            raise BadInputError(f"{self.name}: unknown preset {self.preset!r}; known: {known}.{hint}")
        for option, least in self._least.items():
            value = getattr(self, option)
            if value is not None and value < least:
                raise BadInputError(f"{self.name}: {option} is {value}; give {least} or more.")
        for option in self._shares:
            if not 0 <= getattr(self, option) <= 1:
                raise BadInputError(f"{self.name}: {option} is {getattr(self, option)}; give a share from 0 to 1.")

    def _option(self, name: str) -> Any:
        """Value of an option, or the one that the preset gives."""
        value = getattr(self, name, None)
        return self._presets[self.preset][name] if value is None else value

    def _tables(self) -> dict[str, Any]:
        """File name -> JSON value, for the learnt attributes."""
        return {}

    def _weights(self) -> bytes:
        """Weights of a network, as bytes."""
        return b""

    def _restore(self, files: ModelFiles) -> None:  # noqa: B027 - most methods have nothing to restore
        """Restore the learnt attributes from the results of `_tables` and `_weights`; BadInputError for other files."""

    def _check_fitted(self) -> None:
        if not hasattr(self, "data_digest_"):
            name = type(self).__name__
            raise NotFittedError(
                f"{name} has learnt nothing yet: "
                f"call fit(urls, clusters), or {name}.load(folder), before canonicalize()."
            )

    def _description(self) -> dict[str, Any]:
        return {
            "method": self.name,
            "options": self.options(),
            "hosts": sorted(self.hosts),
            "counts": {"urls": self.n_urls_, "clusters": self.n_clusters_},
            "training_data_digest": self.data_digest_,
            "quality": self.quality_,
        }
