"""Operations of the rule language: what a rule does to the value of one key."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count, product, takewhile

from dedup_crawler.errors import BadInputError
from dedup_crawler.rules.language.matchers import sorted_values
from dedup_crawler.urls.keyvalue import KeyValues

STAR = "*"
"""Stands for a value that does not matter."""

MIN_HASH, MAX_HASH = 6, 128
"""Smallest and largest number of digits of a hash."""
_LITERAL_ONLY = {
    "path.length": re.compile(r"\d{1,3}", re.ASCII),
    "scheme": re.compile("https?"),
    "slash": re.compile("/"),
    "root": re.compile(""),
}
_SPACES = (("%20", "_"),)
_SPACES_OF_QUERY = (("+", "%20"), ("+", "_"), *_SPACES, ("+", ""), ("%20", ""))
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+", re.ASCII).fullmatch
_CAPITALS = re.compile(r"(?<!%)(?<!%[0-9A-F])[A-Z]")


@dataclass(frozen=True, slots=True)
class Set:
    """Gives the key this value, even if the key is missing."""

    value: str | None


@dataclass(frozen=True, slots=True)
class Copy:
    """Gives the key the value of another key, which must be present."""

    key: str


@dataclass(frozen=True, slots=True)
class Drop:
    """Removes the key."""


@dataclass(frozen=True, slots=True)
class Star:
    """Replaces the value of the key by ``*``: the value does not matter. A missing key stays missing."""


class Edit(ABC):
    """Changes a value by itself. A missing key stays missing."""

    __slots__ = ()

    @abstractmethod
    def parts(self, value: str | None) -> tuple[str | None, str | None]:
        """Return the new value, and what the rule removes or replaces (None if the value stays)."""


@dataclass(frozen=True, slots=True)
class Cut(Edit):
    """Keeps only the part of the value before (or behind) a delimiter; a value without the delimiter is not changed.

    If the kept part may have the delimiter too, one delimiter stays at the end that was cut. So a second cut changes
    nothing.
    """

    delimiter: str
    is_last: bool
    """True if the last delimiter counts, not the first."""
    keeps_head: bool

    def parts(self, value: str | None) -> tuple[str | None, str | None]:
        """Cut *value* into the part that is kept and the part that is removed (None if nothing is cut).

        >>> Cut("-", is_last=False, keeps_head=True).parts("7-a-title")
        ('7', 'a-title')
        >>> Cut(":", is_last=True, keeps_head=True).parts("a:b:page")
        ('a:b:', 'page')
        """
        if not value or self.delimiter not in value:
            return value, None
        head, _, tail = value.rpartition(self.delimiter) if self.is_last else value.partition(self.delimiter)
        kept, gone = (head, tail) if self.keeps_head else (tail, head)
        if self.is_last is self.keeps_head:
            kept = kept + self.delimiter if self.keeps_head else self.delimiter + kept
        return (kept, gone) if kept and gone else (value, None)


@dataclass(frozen=True, slots=True)
class Shorten(Edit):
    """Keeps the first digits of a longer hash, as Git and Mercurial abbreviate the names of commits.

    A hash is hexadecimal, with a letter and a decimal digit: other words and numbers are not changed.
    """

    length: int

    def parts(self, value: str | None) -> tuple[str | None, str | None]:
        """Return the first *length* digits of a hash, and the others.

        >>> Shorten(7).parts("214a8d3e5b9c01")
        ('214a8d3', 'e5b9c01')
        >>> Shorten(7).parts("20260214101500")
        ('20260214101500', None)
        """
        if value is None or len(value) <= self.length or not is_hash(value):
            return value, None
        return value[: self.length], value[self.length :]


@dataclass(frozen=True, slots=True)
class Lowercase(Edit):
    """Replaces capitals by small letters, for servers and applications that ignore the letter case."""

    def parts(self, value: str | None) -> tuple[str | None, str | None]:
        """Return the value in small letters, and the value; escapes keep their capitals.

        >>> Lowercase().parts("About%2FUs"), Lowercase().parts("about")
        (('about%2Fus', 'About%2FUs'), ('about', None))
        """
        lower = value if value is None else _CAPITALS.sub(lambda found: found[0].lower(), value)
        return (lower, value) if lower != value else (value, None)


@dataclass(frozen=True, slots=True)
class Spaces(Edit):
    """Writes spaces in another way: forms send ``+`` for ``%20`` (URL Standard of WHATWG, section 5), wikis ``_``.

    Without a new way, it drops spaces at both ends, as searches do.
    """

    old: str
    new: str

    def parts(self, value: str | None) -> tuple[str | None, str | None]:
        """Return the value with the new spaces, and the value.

        >>> Spaces("%20", "_").parts("Main%20Page")
        ('Main_Page', 'Main%20Page')
        >>> Spaces("+", "").parts("red+shoes+")
        ('red+shoes', 'red+shoes+')
        """
        if value is None or self.new:
            spelled = value and value.replace(self.old, self.new)
        else:
            words = value.split(self.old)
            written = [place for place, word in enumerate(words) if word]
            spelled = self.old.join(words[written[0] : written[-1] + 1]) if written else ""
        return (spelled, value) if spelled != value else (value, None)


@dataclass(frozen=True, slots=True)
class Unordered:
    """Sorts the values of a repeated query key (``f=b&f=a``), and removes repeated values if they are a set."""

    is_set: bool


Operation = Set | Copy | Drop | Star | Edit | Unordered


def cuts_at(delimiters: Iterable[str]) -> list[Cut]:
    """All cuts at some delimiters, in a fixed order."""
    return [Cut(*chosen) for chosen in product(delimiters, (False, True), (True, False))]


def is_hash(value: str) -> bool:
    """Return True for hexadecimal digits with a letter and a decimal digit, all letters of one case."""
    is_hex = MIN_HASH <= len(value) <= MAX_HASH and _HEX(value) is not None
    return is_hex and not value.isdecimal() and not value.isalpha()


def spaces_of(key: str) -> Sequence[tuple[str, str]]:
    """Pairs of ways to write a space in the values of *key*, old and new: ``+`` is one in a query alone."""
    return _SPACES_OF_QUERY if key.startswith("query[") else _SPACES


def sort_repeated(values: KeyValues, key: str, is_set: bool) -> None:
    """Sort the values of a repeated query key, which are under ``query[f]``, ``query[f]#2``, ..."""
    keys = [*takewhile(values.__contains__, chain([key], (f"{key}#{number}" for number in count(2))))]
    found = [values.pop(name) for name in keys]
    values.update(zip(keys, sorted_values(set(found) if is_set else found), strict=False))


def number_anew(values: KeyValues, key: str) -> None:
    """Number the values of a repeated query key from 1, as they are read from the URL that is written."""
    of_key = (name for name in values if name == key or (name[: len(key) + 1] == f"{key}#" and name[-1].isdecimal()))
    names = sorted(of_key, key=lambda name: (len(name), name))
    found = [values.pop(name) for name in names]
    values.update((f"{key}#{number}" if number > 1 else key, each) for number, each in enumerate(found, start=1))


def check_operation(key: str, operation: Operation) -> None:
    """Raise BadInputError if the result of the operation would be no URL of the same host."""
    allowed = _LITERAL_ONLY.get(key)
    if isinstance(operation, Cut) and len(operation.delimiter) != 1:
        raise BadInputError(f"{key} cannot be cut at {operation.delimiter!r}: a delimiter is one character")
    if isinstance(operation, Shorten) and not MIN_HASH <= operation.length <= MAX_HASH:
        raise BadInputError(f"{key} cannot be shortened to {operation.length} digits, only to {MIN_HASH} to {MAX_HASH}")
    if isinstance(operation, Spaces) and (operation.old, operation.new) not in spaces_of(key):
        ways = ", ".join(f"{old} as {new}" for old, new in spaces_of(key))
        raise BadInputError(f"{operation.old} in {key} cannot be written as {operation.new}; known: {ways}")
    if isinstance(operation, Unordered) and (not key.startswith("query[") or key[-1] != "]"):
        raise BadInputError(f"{key} cannot be repeated, only query[NAME] can")
    if allowed is not None and isinstance(operation, (Copy, Star, Edit)):
        raise BadInputError(f"{key} can be set or dropped, nothing else")
    if key in ("scheme", "path.length") and isinstance(operation, Drop):
        raise BadInputError(f"{key} can be set, nothing else")
    if allowed is not None and isinstance(operation, Set) and not allowed.fullmatch(operation.value or ""):
        raise BadInputError(f"{key} cannot be set to {operation.value!r}")


def does(key: str, operation: Operation) -> str:
    """Return the operation in words."""
    if isinstance(operation, Set):
        return f"set {key} to {operation.value!r}"
    if isinstance(operation, Copy):
        return f"set {key} to that of {operation.key}"
    if isinstance(operation, Cut):
        side = "before" if operation.keeps_head else "after"
        return f"cut {key} to the part {side} the {'last' if operation.is_last else 'first'} {operation.delimiter!r}"
    if isinstance(operation, Shorten):
        return f"shorten a hash in {key} to {operation.length} digits"
    if isinstance(operation, Spaces):
        return f"write {operation.old!r} in {key} as {operation.new!r}"
    if isinstance(operation, Lowercase):
        return f"write {key} in small letters"
    if isinstance(operation, Unordered):
        return f"sort {key}{', each value once' * operation.is_set}"
    return f"{'drop' if isinstance(operation, Drop) else 'ignore'} {key}"
