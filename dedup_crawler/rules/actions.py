"""What a rule does to all URLs that are built alike, tried once on a map of markers.

Whatever :meth:`Rule.apply` and a map's ``write`` do is what comes out: a text with gaps, and the places of the values
that fill them. What depends on the values themselves is left to a map of each URL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from dedup_crawler.rules.rule import (
    ANY,
    Copy,
    Cut,
    Drop,
    KeyValueMap,
    Literal,
    OneOf,
    Operation,
    Rule,
    Set,
    Star,
    Unordered,
    UrlMap,
    repeated_keys,
)
from dedup_crawler.rules.shapes import Shape, read_query
from dedup_crawler.urls.keyvalue import KeyValues

_MARKER = re.compile("\0([0-9]+)\0")  # no URL in normal form holds such characters
_PLAIN_KEY = re.compile(r"query\[[A-Za-z0-9\-._~]+\]|path\[\d+\]").fullmatch
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9\-._~]*").fullmatch
_PLAIN_PIECE = re.compile(r"[A-Za-z0-9\-_~]+").fullmatch  # what ends in no extension
_KNOWN = (Set, Copy, Drop, Star)
_KEY_VALUES = KeyValueMap()

Values = Sequence[str]


@dataclass(frozen=True, slots=True)
class Places:
    """Where the values of keys stand in the list of a URL's values."""

    index: Mapping[str, int]
    constants: Mapping[str, str | None]
    """Keys that have one value in all of these URLs."""

    def marked(self) -> KeyValues:
        """A map of these URLs with markers for values."""
        return {**self.constants, **{key: f"\0{place}\0" for key, place in self.index.items()}}

    def read(self, values: Values) -> KeyValues:
        """The map of one URL."""
        return {**self.constants, **{key: values[place] for key, place in self.index.items()}}


class Text(NamedTuple):
    """How URLs are written: ``template % pick(values)``."""

    template: str
    pick: Callable[[Values], tuple[str, ...]]

    @classmethod
    def of(cls, marked: str) -> Text:
        """Read a text with markers."""
        template = _MARKER.sub("%s", marked.replace("%", "%%"))
        return cls(template, _picker([int(place) for place in _MARKER.findall(marked)]))


class Following(NamedTuple):
    """What is read of the text that an action writes, where that is known beforehand."""

    shape: Shape
    pick: Callable[[Values], tuple[str, ...]]


class Action:
    """What a rule does to such URLs."""

    __slots__ = (
        "always_fires",
        "cut",
        "differs",
        "following",
        "is_normal",
        "next_plan",
        "repeats",
        "rule",
        "scheme",
        "tests",
        "text",
    )

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.tests: list[tuple[int, Callable[[str | None], bool]]] = []
        """Places whose values have to be of a class."""
        self.differs: list[tuple[int, int | None, str | None]] = []
        """Places of which one has to hold another value than the place beside it, or than this; empty: one does."""
        self.text: Text | None = None
        """None: it depends on the values what comes out."""
        self.scheme = ""
        self.is_normal = False
        """Whether the text is in normal form for sure."""
        self.following: Following | None = None
        self.next_plan: Any = None
        """The plan of what follows, once it was looked up."""
        self.cut: tuple[int, Cut] | None = None
        """A place whose value is cut, and nothing else changes."""
        self.repeats: tuple[Callable[[Values], tuple[str, ...]], bool] | None = None
        """Takes the values of a repeated key that are sorted, and whether each is told once; nothing else changes."""
        self.always_fires = False
        """Whether nothing is left to be tested."""

    def fires(self, places: Places, values: Values) -> bool:
        """Whether the rule changes a URL whose literals it asks for are there."""
        for place, matches in self.tests:
            if not matches(values[place]):
                return False
        if self.cut is not None:
            place, operation = self.cut
            return operation.parts(values[place])[1] is not None
        if self.repeats is not None:
            pick, is_set = self.repeats
            told = pick(values)
            return list(told) != sorted(set(told) if is_set else told)
        if self.text is None:
            read = places.read(values)
            return self.rule.apply(read) != read
        for place, other, value in self.differs:
            if values[place] != (value if other is None else values[other]):
                return True
        return not self.differs


def compiled(rule: Rule, places: Places, whole: Places | None, url_map: UrlMap) -> Action | None:
    """What *rule*, whose literals and keys are there, does to the URLs of *places*; None if it never changes one.

    Parameters
    ----------
    whole
        The same URLs with no value in pieces; None where nobody asks what follows.
    """
    action = Action(rule)
    for key, matcher in rule.context.items():
        if isinstance(matcher, (Literal, OneOf)) or matcher == ANY:
            continue
        if key in places.index:
            action.tests.append((places.index[key], matcher.matches))
        elif not matcher.matches(places.constants[key]):
            return None
    action.cut = _only_cut(rule, places, url_map)
    action.repeats = _only_sorted(rule, places)
    if action.cut is not None or not all(map(_is_known, rule.transformation.values())):
        return action
    before = places.marked()
    after = rule.apply(before)
    if after == before:
        return None
    marked = url_map.write(after)
    if not marked.startswith("/"):
        return action
    action.differs = _differences(before, after, places)
    action.text = Text.of(marked)
    action.scheme = str(after["scheme"])
    action.is_normal = all(_keeps_normal(key, operation) for key, operation in rule.transformation.items())
    if whole is not None and all(
        _is_plain(key, operation, whole, url_map) for key, operation in rule.transformation.items()
    ):
        action.following = _following(rule.apply(whole.marked()))
    action.always_fires = not action.tests and not action.differs
    return action


def _only_cut(rule: Rule, places: Places, url_map: UrlMap) -> tuple[int, Cut] | None:
    """Place and operation of a rule that does nothing but cut one value, which is read whole."""
    (key, operation), *more = rule.transformation.items()
    if more or not isinstance(operation, Cut) or not _PLAIN_KEY(key) or not url_map.is_whole(key):
        return None
    return (places.index[key], operation) if key in places.index else None


def _only_sorted(rule: Rule, places: Places) -> tuple[Callable[[Values], tuple[str, ...]], bool] | None:
    """What a rule sorts that does nothing else; None if one of the values is missing (``f`` without ``=``)."""
    (key, operation), *more = rule.transformation.items()
    if more or not isinstance(operation, Unordered):
        return None
    keys = repeated_keys(places.marked(), key)
    return (
        (_picker([places.index[name] for name in keys]), operation.is_set) if set(keys) <= places.index.keys() else None
    )


def _is_known(operation: Operation) -> bool:
    return isinstance(operation, _KNOWN) and not (isinstance(operation, Set) and "\0" in (operation.value or ""))


def _differences(before: KeyValues, after: KeyValues, places: Places) -> list[tuple[int, int | None, str | None]]:
    if before.keys() != after.keys():
        return []
    found: list[tuple[int, int | None, str | None]] = []
    for key, value in after.items():
        if value != before[key]:
            ours, theirs = _place(before[key]), _place(value)
            if ours is None and theirs is None:
                return []
            if ours is None:
                ours, theirs, value = theirs, ours, before[key]
            found.append((ours if ours is not None else 0, theirs, value))
    return found


def _keeps_normal(key: str, operation: Operation) -> bool:
    """Whether what an operation leaves of a URL in normal form is in normal form, whatever is read of it."""
    if key == "scheme" or "@" in key:
        return False
    is_plain_value = isinstance(operation, Set) and _PLAIN_VALUE(operation.value or "") is not None
    return is_plain_value or isinstance(operation, (Drop, Star))


def _is_plain(key: str, operation: Operation, whole: Places, url_map: UrlMap) -> bool:
    """Whether a map that was changed so is what is read of the text that is written of it."""
    if key == "slash":
        return isinstance(operation, Drop)  # an extension is read with a slash behind it too
    if _PLAIN_KEY(key) is None or not url_map.is_whole(key):
        return False
    if key.startswith("path["):
        is_plain_value = isinstance(operation, Set) and _PLAIN_PIECE(operation.value or "") is not None
        return key in whole.index and (is_plain_value or isinstance(operation, Star))
    return f"{key}#2" not in whole.index and f"{key}#2" not in whole.constants and _keeps_normal(key, operation)


def _following(after: KeyValues) -> Following:
    """Shape and places of the URLs of a map with markers that reads as it is written."""
    n_pieces = int(after["path.length"] or 0)
    pieces = [after[f"path[{place}]"] for place in range(n_pieces)]
    _, question, query = _KEY_VALUES.write(after).partition("?")
    names, its = read_query(query) if question else ((), [])
    values = [*pieces, *its, *([after["ext"]] if "ext" in after else [])]
    shape = (str(after["scheme"]), n_pieces, "ext" in after, "slash" in after, names)
    return Following(shape, _gatherer([value or "" for value in values]))


def _gatherer(marked: Sequence[str]) -> Callable[[Values], tuple[str, ...]]:
    """Takes values from their places, and what is no marker as it is."""
    own = [value for value in marked if _place(value) is None]
    if not own:
        return _picker([_place(value) or 0 for value in marked])
    # places counted from the end, where what is no marker stands
    left = iter(range(-len(own), 0))
    pick = _picker([next(left) if (place := _place(value)) is None else place for value in marked])
    return lambda values: pick([*values, *own])


def _picker(places: Sequence[int]) -> Callable[[Values], tuple[str, ...]]:
    if len(places) > 1:
        return itemgetter(*places)
    if places:
        only = places[0]
        return lambda values: (values[only],)
    return lambda values: ()


def _place(marked: str | None) -> int | None:
    match = _MARKER.fullmatch(marked or "")
    return int(match[1]) if match is not None else None
