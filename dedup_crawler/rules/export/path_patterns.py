"""Conditions on a path as patterns of url-matcher: literal text, ``*`` for any text, ``|`` for the end.

A pattern without ``|`` is a beginning. A star stands for slashes too, and for nothing at all: how many parts a path has
is told by the slashes that it must not have more, and by keeping off from paths with empty parts. Patterns that include
are exact but for letter case; those that exclude may cover too much.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from dedup_crawler.rules.export.meeting import Conditions
from dedup_crawler.rules.export.regexes import UnsayableError
from dedup_crawler.rules.rule import ANY, Literal, Matcher, NoneOf, OfClass, OneOf

_MAX_LENGTH = 10  # of a path that is told part by part
_PLAIN = re.compile(r"[A-Za-z0-9._~!$'(),:@=+\-]+")
_ENDS_LIKE_A_FILE = re.compile(r".+\.[A-Za-z0-9]{1,8}")
_EMPTY_PARTS = ("//", "/*//")
_ENDS_IN_SLASH = "/*/|"


class PathPatterns(NamedTuple):
    """A path is meant if one of those includes it and none of these excludes it."""

    include: list[str]
    exclude: list[str]


def path_patterns(conditions: Conditions) -> Iterator[PathPatterns]:
    """Patterns for the paths that meet the conditions; some paths may be left out.

    Raises
    ------
    UnsayableError
        If a condition cannot be said.
    """
    literals = _literals(conditions)
    needed = 1 + max((_place(key) for key in conditions.matchers if key.startswith("path[")), default=-1)
    unwanted = [*_EMPTY_PARTS, *_others(conditions)]
    extensions = _extensions(conditions, unwanted)
    with_slash = _slashes(conditions)
    lengths = _lengths(conditions)
    if lengths is None:
        yield from _open(literals, needed, extensions, with_slash, unwanted)
        return
    for length in lengths:
        if length >= needed:
            yield from _of_length(length, literals, extensions, with_slash, unwanted)


def too_wide(conditions: Conditions) -> list[str]:
    """Patterns that cover all paths of which these conditions are true; ``/`` where nothing can be said."""
    literals = {}
    for key, matcher in conditions.matchers.items():
        values = few_values(matcher)
        if key.startswith("path[") and values and all(map(_PLAIN.fullmatch, values)):
            literals[_place(key)] = values
    n_first = next(place for place in range(len(literals) + 1) if place not in literals)
    starts = ["/" + "/".join(choice) for choice in product(*(literals[place] for place in range(n_first)))]
    if not n_first and literals:
        place, values = min(literals.items())
        starts = ["/" + "*/" * place + value for value in values]
        n_first = place + 1
    if starts == ["/"] and "slash" in conditions.matchers:
        return [_ENDS_IN_SLASH]
    for key, text in conditions.has.items():
        if key.startswith("path[") and _PLAIN.fullmatch(text):
            starts = [f"{start}*{text}" if _place(key) >= n_first else f"/*{text}" for start in starts]
            break
    return starts


def few_values(matcher: Matcher) -> list[str] | None:
    """The few values that a matcher allows, one without ``=`` as an empty one; None where it allows many."""
    if isinstance(matcher, Literal):
        return [matcher.value or ""]
    if isinstance(matcher, OneOf):
        return sorted({value or "" for value in matcher.values})
    return None


def _open(
    literals: dict[int, list[str]], needed: int, extensions: list[str], with_slash: list[bool], unwanted: list[str]
) -> Iterator[PathPatterns]:
    """Paths of any length."""
    n_literals = len(literals)
    if set(literals) != set(range(n_literals)):
        raise UnsayableError("a part of the path behind others that may be anything cannot be said")
    n_more = max(needed - n_literals, 0)
    for choice in product(*(literals[place] for place in range(n_literals))):
        start = "".join(f"/{each}" for each in choice)
        behind = start + "/*" * max(n_more, 1)
        exclude = list(unwanted)
        include = []
        if extensions == [""] and with_slash == [False, True]:
            include.append(behind)
            if not n_more and n_literals and not _ENDS_LIKE_A_FILE.fullmatch(choice[-1]):
                include.append(f"{start}|")
            if n_more == 1:
                exclude.append(f"{start}/|")
            elif n_more > 1 or (n_literals and _ENDS_LIKE_A_FILE.fullmatch(choice[-1])):
                exclude.append(_ENDS_IN_SLASH)  # what stands before such a slash may be the last part
        else:
            ends = [f"{extension}{'/' * slash}|" for extension in extensions for slash in with_slash]
            for end in ends:
                include.append(f"{behind}{end}")
                if not n_more and n_literals and (end[0] == "." or not _ENDS_LIKE_A_FILE.fullmatch(choice[-1])):
                    include.append(f"{start}{end}")
            if n_more and False in with_slash:
                exclude.append(f"{start}/|")
            if True not in with_slash:
                exclude.append(_ENDS_IN_SLASH)
            elif False not in with_slash and n_literals and _ENDS_LIKE_A_FILE.fullmatch(choice[-1]):
                exclude.append(f"{start}/|")
        yield PathPatterns(include, exclude)


def _of_length(
    length: int,
    literals: dict[int, list[str]],
    extensions: list[str],
    with_slash: list[bool],
    unwanted: list[str],
) -> Iterator[PathPatterns]:
    """Paths of one length: those with a slash at the end by themselves, for slashes are what is counted."""
    if length > _MAX_LENGTH or any(place >= length for place in literals):
        raise UnsayableError("its condition on the number of path parts cannot be said")
    if not length:
        if False in with_slash and extensions == [""]:
            yield PathPatterns(["/|"], list(unwanted))
        return
    for slash in with_slash:
        if slash and extensions != [""]:
            continue
        include = []
        for choice in product(*(literals.get(place, ["*"]) for place in range(length))):
            if extensions == [""] and _ENDS_LIKE_A_FILE.fullmatch(choice[-1]):
                continue  # is read as a part and its extension
            include += [f"/{'/'.join(choice)}{extension}{'/' * slash}|" for extension in extensions]
        deeper = "/" + "*/" * (length + slash)
        ends = [] if slash else [_ENDS_IN_SLASH]
        if include:
            yield PathPatterns(include, [*unwanted, deeper, *ends, "/|"])


def _literals(conditions: Conditions) -> dict[int, list[str]]:
    """Place -> what the part of the path there may be, where few values are allowed."""
    places = {}
    for key, matcher in conditions.matchers.items():
        if not key.startswith("path["):
            continue
        values = few_values(matcher)
        if values is not None:
            if not all(map(_PLAIN.fullmatch, values)):
                raise UnsayableError(f"a part of the path is read in other ways there: {', '.join(values)}")
            places[_place(key)] = values
        elif not isinstance(matcher, NoneOf) and matcher != ANY:
            raise UnsayableError("a class of values cannot be said")
    return places


def _others(conditions: Conditions) -> Iterator[str]:
    """Paths with a value that must not be, and all that begin so."""
    for key, matcher in sorted(conditions.matchers.items()):
        if key.startswith("path[") and isinstance(matcher, NoneOf):
            for value in sorted(filter(None, matcher.values)):
                if not _PLAIN.fullmatch(value):
                    raise UnsayableError(f"a part of the path is read in other ways there: {value}")
                yield "/" + "*/" * _place(key) + value


def _extensions(conditions: Conditions, unwanted: list[str]) -> list[str]:
    """Extensions that a path may have, an empty one for any or none; adds what is unwanted."""
    matcher = conditions.matchers.get("ext")
    if matcher is None:
        if "ext" in conditions.absent:
            unwanted.append("/*.")
        return [""]
    values = few_values(matcher)
    if values is None or not all(re.fullmatch(r"\.[A-Za-z0-9]{1,8}", value) for value in values):
        raise UnsayableError("its condition on the extension cannot be said")
    # such a name is no extension
    unwanted += [f"{start}{value}{end}" for value in values for start in ("/", "/*/") for end in ("|", "/|")]
    return values


def _slashes(conditions: Conditions) -> list[bool]:
    """Whether a path may end without and with a slash."""
    matcher = conditions.matchers.get("slash")
    if matcher is None:
        return [False] if "slash" in conditions.absent else [False, True]
    if not matcher.matches("/"):
        raise UnsayableError("no path meets its conditions")
    return [True]


def _lengths(conditions: Conditions) -> list[int] | None:
    """How many parts a path may have; None for any number."""
    longest = min((_place(key) for key in conditions.absent if key.startswith("path[")), default=None)
    matcher = conditions.matchers.get("path.length", ANY)
    values = few_values(matcher)
    if values is not None:
        lengths = [int(value) for value in values if value.isascii() and value.isdecimal()]
        return [length for length in lengths if longest is None or length <= longest]
    if not isinstance(matcher, OfClass) or matcher.name == "alpha":
        raise UnsayableError("its condition on the number of path parts cannot be said")
    return None if longest is None else list(range(longest + 1))


def _place(key: str) -> int:
    return int(key[5:-1])
