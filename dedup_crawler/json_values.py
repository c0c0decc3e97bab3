"""Strict reading of untrusted JSON, value by value; a wrong value raises an error of one line that names it.

Readers of files use the methods of :class:`JsonValue`, so that no value of a wrong type gets through, and the only
possible error is BadInputError.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from dedup_crawler.errors import BadInputError

MAX_COUNT = 10**15
"""Largest accepted count; no crawl has as many of anything."""
MAX_DEPTH = 50
"""Deepest accepted nesting; our own files are less than ten deep, and an attacker's may exhaust the stack."""
_MAX_SHOWN = 60


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value and its place, such as ``rules.json, 'counts'``.

    Every method raises BadInputError if the value is of another kind.
    """

    raw: Any
    place: str

    def __getitem__(self, key: str) -> JsonValue:
        """Return the value of *key* in a table, which must have it."""
        if not isinstance(self.raw, dict):
            self.refuse("a table")
        if key not in self.raw:
            raise BadInputError(f"{self.place} lacks {key!r}.")
        return JsonValue(self.raw[key], f"{self.place}, {key!r}")

    def __contains__(self, key: str) -> bool:
        """Return True if a table has *key*."""
        return isinstance(self.raw, dict) and key in self.raw

    def table(self) -> dict[str, JsonValue]:
        """Return the table: key -> value."""
        if not isinstance(self.raw, dict):
            self.refuse("a table")
        return {key: JsonValue(value, f"{self.place}, {_shown(key)}") for key, value in self.raw.items()}

    def values(self, limit: int | None = None) -> list[JsonValue]:
        """Return the values of a list, at most the first *limit*."""
        found = enumerate(self._list()[:limit], start=1)
        return [JsonValue(value, f"{self.place}, entry {number}") for number, value in found]

    def texts(self) -> list[str]:
        """Return the texts of a list."""
        return self._all("texts", lambda value: isinstance(value, str))

    def integers(self, least: int = 0, most: int = MAX_COUNT) -> list[int]:
        """Return the whole numbers of a list, from *least* to *most*."""
        kind = f"whole numbers from {least} to {most}"
        return self._all(kind, lambda value: type(value) is int and least <= value <= most)

    def numbers(self) -> list[float]:
        """Return the finite numbers of a list."""
        return self._all("numbers", _is_number)

    def text(self) -> str:
        """Return the text."""
        return self.raw if isinstance(self.raw, str) else self.refuse("a text")

    def flag(self) -> bool:
        """Return True or False."""
        return self.raw if isinstance(self.raw, bool) else self.refuse("true or false")

    def count(self, most: int = MAX_COUNT) -> int:
        """Return a whole number from 0 to *most*."""
        if type(self.raw) is not int or not 0 <= self.raw <= most:
            self.refuse(f"a whole number from 0 to {most}")
        return self.raw

    def number(self) -> float:
        """Return a finite number."""
        return float(self.raw) if _is_number(self.raw) else self.refuse("a number")

    def scalar(self) -> str | float | bool | None:
        """Return any value but a list or a table."""
        if not (self.raw is None or isinstance(self.raw, (str, bool)) or _is_number(self.raw)):
            self.refuse("a text, a number, true, false or null")
        scalar: str | float | bool | None = self.raw
        return scalar

    def refuse(self, expected: str, *found: Any) -> NoReturn:
        """Raise an error with the *expected* kind and the value, or *found* in it."""
        raise BadInputError(f"{self.place}: expected {expected}, found {_shown(*found or [self.raw])}.")

    def _all(self, kind: str, is_one: Callable[[Any], bool]) -> list[Any]:
        for value in self._list():
            if not is_one(value):
                self.refuse(f"a list of {kind}", value)
        return self._list()

    def _list(self) -> list[Any]:
        return self.raw if isinstance(self.raw, list) else self.refuse("a list")


def read_json(data: bytes, place: str) -> JsonValue:
    """Read JSON, at most :data:`MAX_DEPTH` deep and without NaN and Infinity, which are not JSON.

    BadInputError if *data* is anything else; the message begins with *place*.
    """
    try:
        value = json.loads(data, parse_constant=_no_constant)
    except RecursionError:
        raise BadInputError(f"{place} cannot be read: it is nested too deeply.") from None
    except ValueError as error:
        raise BadInputError(f"{place} cannot be read as JSON ({type(error).__name__}).") from None
    if not _is_shallow(value):
        raise BadInputError(f"{place} cannot be read: it is nested more than {MAX_DEPTH} deep.")
    return JsonValue(value, place)


def read_json_file(path: Path, max_bytes: int) -> JsonValue:
    """Read a file of at most *max_bytes* bytes with :func:`read_json`; BadInputError also if it cannot be read."""
    try:
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise BadInputError(f"{path} cannot be read ({error.strerror or type(error).__name__}).") from None
    if len(data) > max_bytes:
        raise BadInputError(f"{path} has more than {max_bytes} bytes.")
    return read_json(data, str(path))


def _is_shallow(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        nested = [each for each in level if isinstance(each, (dict, list))]
        if not nested:
            return True
        level = [inner for each in nested for inner in (each.values() if isinstance(each, dict) else each)]
    return False


def _is_number(value: Any) -> bool:
    return (type(value) is float and math.isfinite(value)) or (type(value) is int and abs(value) <= MAX_COUNT)


def _shown(value: Any) -> str:
    """Return a value on one short line."""
    if isinstance(value, (dict, list)):
        return f"a {'table' if isinstance(value, dict) else 'list'} of {len(value)}"
    if isinstance(value, str):
        return ascii(value[:_MAX_SHOWN]) + ("..." if len(value) > _MAX_SHOWN else "")
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value) if isinstance(value, float) or abs(value) < 10**_MAX_SHOWN else "a huge number"


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
