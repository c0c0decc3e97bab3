"""The static rules in front of a model, applied file after file until nothing changes.

The author of a rule expects it to be applied once. If a rule fires again on its own result (to drop one more path part,
say), the URL keeps its own form.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from dedup_crawler.errors import BadInputError
from dedup_crawler.json_values import read_json_file
from dedup_crawler.rules.static_rules.clearurls import ClearUrls
from dedup_crawler.rules.static_rules.discarder_rules import DiscarderRules

EXPECTED = "data.min.json of ClearURLs, or a list of rules of duplicate-url-discarder"
_MAX_PASSES = 10
_MAX_BYTES = 2**26


RuleFile = ClearUrls | DiscarderRules
"""The rules of one file."""


class StaticLayer:
    """Gives URLs their forms by the static rules of *files*, in this order, except those with the identifiers *off*."""

    def __init__(self, files: Sequence[RuleFile], off: frozenset[str] = frozenset()) -> None:
        self.files = tuple(files)
        self.off = off
        self._last: tuple[str, str, tuple[str, ...]] = ("", "", ())  # callers often ask several times about one URL

    def trace(self, url: str) -> tuple[str, tuple[str, ...]]:
        """Form of a URL in normal form, on the same host, and the identifiers of the rules that led to the form.

        The form is the URL itself if a rule fires twice, or the rules do not end.
        """
        last, form, fired = self._last
        if url != last:
            form, fired = self._settled(url)
            self._last = url, form, fired
        return form, fired

    def sentences(self) -> Mapping[str, str]:
        """Identifier -> description, for all used rules."""
        return {known: said for file in self.files for known, said in file.sentences.items() if known not in self.off}

    def without(self, identifiers: Collection[str]) -> StaticLayer:
        """The layer without some of the rules."""
        return StaticLayer(self.files, self.off.union(identifiers))

    def behind(self, first: StaticLayer) -> StaticLayer:
        """A layer with the rules of *first*, and then those of this layer."""
        return StaticLayer([*first.files, *self.files], self.off | first.off)

    def to_json(self) -> list[dict[str, Any]]:
        """All files with their used rules."""
        return [{"file": file.file, "rules": file.to_json()} for file in self.files]

    @classmethod
    def from_json(cls, value: Any, name: str) -> StaticLayer:
        """Read the result of :meth:`to_json`; BadInputError if *value* is not one."""
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
    """Rules in the JSON of a file.

    BadInputError if *value* is in no known format. MissingExtraError if a package that applies the rules is not
    installed.
    """
    if isinstance(value, list):
        return DiscarderRules(value, file)
    if isinstance(value, dict) and "providers" in value:
        return ClearUrls(value, file)
    raise BadInputError(f"{file} is in no known format of rules: expected {EXPECTED}.")


def read_rule_files(paths: Sequence[Path]) -> StaticLayer:
    """Read the rules of some files.

    BadInputError if a file cannot be read, or is in no known format. MissingExtraError if a package that applies the
    rules is not installed.
    """
    return StaticLayer([rules_of(_json_of(path), path.name) for path in paths])


def _json_of(path: Path) -> Any:
    try:
        return read_json_file(path, _MAX_BYTES).raw
    except BadInputError as error:
        raise BadInputError(f"{error} Expected {EXPECTED}.") from None
