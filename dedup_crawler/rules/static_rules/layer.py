"""All static rules in front of a model, file after file, until nothing changes.

Whoever wrote a rule meant it to be applied once. Where it would change what it has made again (take one more path
part), no form is its own form, and the URL is left alone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from dedup_crawler.errors import BadInputError
from dedup_crawler.rules.static_rules.clearurls import ClearUrls
from dedup_crawler.rules.static_rules.discarder import DiscarderRules

EXPECTED = "data.min.json of ClearURLs, or a list of rules of duplicate-url-discarder"
_MAX_PASSES = 10
_MAX_BYTES = 2**26


class RuleFile(Protocol):
    """The rules of one file."""

    kind: str
    file: str
    refused: list[str]
    sentences: dict[str, str]

    def applied(self, url: str, off: Collection[str]) -> tuple[str, list[str]]:
        """A URL in normal form, changed by the rules that are not *off*, and the identifiers of those that did."""

    def to_json(self) -> Any:
        """The rules that are used, in the format of the file."""


class StaticLayer:
    """Gives URLs the form that static rules say.

    Parameters
    ----------
    files
        In the order in which they are applied.
    off
        Identifiers of rules that are not used.
    """

    def __init__(self, files: Sequence[RuleFile], off: frozenset[str] = frozenset()) -> None:
        self.files = tuple(files)
        self.off = off
        self._last: tuple[str, str, tuple[str, ...]] = ("", "", ())  # most URLs are asked about several times in a row

    def trace(self, url: str) -> tuple[str, tuple[str, ...]]:
        """Form of a URL in normal form, of the same host, and the identifiers of the rules that made it.

        The URL itself where the rules do not come to an end with each applied once.
        """
        last, form, fired = self._last
        if url != last:
            form, fired = self._settled(url)
            self._last = url, form, fired
        return form, fired

    def sentences(self) -> Mapping[str, str]:
        """Identifier -> what the rule does; of all rules."""
        return {known: said for file in self.files for known, said in file.sentences.items() if known not in self.off}

    def without(self, identifiers: Collection[str]) -> StaticLayer:
        """The layer without some of the rules."""
        return StaticLayer(self.files, self.off.union(identifiers))

    def behind(self, first: StaticLayer) -> StaticLayer:
        """The rules of this layer after those of another one."""
        return StaticLayer([*first.files, *self.files], self.off | first.off)

    def to_json(self) -> list[dict[str, Any]]:
        """All files with the rules that are used."""
        return [{"file": file.file, "rules": file.to_json()} for file in self.files]

    @classmethod
    def from_json(cls, value: Any, name: str) -> StaticLayer:
        """Read what :meth:`to_json` gave; BadInputError if it cannot have."""
        if not isinstance(value, list) or not all(isinstance(each, dict) and "rules" in each for each in value):
            raise BadInputError(f"{name} is no list of rule files.")
        return cls([rules_of(each["rules"], str(each.get("file", name))) for each in value])

    def _settled(self, url: str) -> tuple[str, tuple[str, ...]]:
        form, fired = url, dict[str, None]()
        for _ in range(_MAX_PASSES):
            before = form
            now: list[str] = []
            for file in self.files:
                form, its = file.applied(form, self.off)
                now += its
            if form == before:
                return form, tuple(fired) if form != url else ()
            if not fired.keys().isdisjoint(now):
                break
            fired.update(dict.fromkeys(now))
        return url, ()


def rules_of(value: Any, file: str) -> RuleFile:
    """The rules in the JSON of a file.

    Raises
    ------
    BadInputError
        If it is in none of the known formats.
    MissingExtraError
        If what applies them is not installed.
    """
    if isinstance(value, list):
        return DiscarderRules(value, file)
    if isinstance(value, dict) and "providers" in value:
        return ClearUrls(value, file)
    raise BadInputError(f"{file} holds no rules that are known: expected {EXPECTED}.")


def read_rule_files(paths: Sequence[Path]) -> StaticLayer:
    """The rules of some files.

    Raises
    ------
    BadInputError
        If one cannot be read, or is in none of the known formats.
    MissingExtraError
        If what applies them is not installed.
    """
    return StaticLayer([rules_of(_json_of(path), path.name) for path in paths])


def _json_of(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from None
    if len(data) > _MAX_BYTES:
        raise BadInputError(f"{path} has more than {_MAX_BYTES} bytes: expected {EXPECTED}.")
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise BadInputError(f"{path} is no JSON: expected {EXPECTED}.") from None
