"""Parameters in a path, read as names of the query, and back without loss.

RFC 3986 (section 3.3) allows parameters in a path segment (``/item/3;jsessionid=A1B2``). ASP.NET puts a session into a
segment of its own (``/(S(A1B2))/item/3``). Read as path parts, they would shift other parts or change them. If a
parameter is not at the end of the path, its value begins with the place of its segment:

============================  ============================
``/item/3;jsessionid=A1B2``   ``/item/3?;jsessionid=A1B2``
``/shop;color=red/item/3``    ``/shop/item/3?;color=0/red``
``/(S(A1B2))/item/3``         ``/item/3?;()=0/S(A1B2)``
============================  ============================
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

ENCLOSED = "()"
"""Name of values in parentheses."""
MIN_URLS = 8
"""Smallest number of paths that must have a name."""
_MAX_NAMES = 100
_NAME = r"[A-Za-z0-9._~\-]+"
_PARAMETERS = re.compile(rf"([^;]*)((?:;{_NAME}=[^;&]*)+)", re.ASCII).fullmatch
_IS_ENCLOSED = re.compile(r"\((?:[A-Za-z][A-Za-z0-9]*\([^();&]*\))+\)", re.ASCII).fullmatch
_IS_NAME = re.compile(rf"{_NAME}|\(\)", re.ASCII).fullmatch
_SAID = re.compile(rf";({_NAME}|\(\))=(?:([0-9]{{1,4}})/)?([^/;&]*)", re.ASCII).fullmatch


def is_name(name: object) -> bool:
    """Return True if this may be the name of a parameter."""
    return isinstance(name, str) and _IS_NAME(name) is not None


def learn_names(paths: Iterable[str]) -> tuple[str, ...]:
    """Find the names of parameters that at least 8 paths have, in their usual order.

    >>> learn_names(f"/item/{i};lang=en;v={i % 2}" for i in range(8))
    ('lang', 'v')
    """
    n_paths: Counter[str] = Counter()
    places: dict[str, int] = defaultdict(int)
    for path in paths:
        if ";" not in path and "(" not in path:
            continue
        in_path: dict[str, int] = {}
        *segments, last = path.split("/")
        if any(map(_IS_ENCLOSED, segments)):
            in_path[ENCLOSED] = 0
        for segment in (*segments, last):
            match = _PARAMETERS(segment)
            if match is not None:
                in_path.update({name: place for place, (name, _) in enumerate(_pairs(match[2]))})
        n_paths.update(in_path.keys())
        for name, place in in_path.items():
            places[name] += place
    common = [name for name, n in n_paths.most_common(_MAX_NAMES) if n >= MIN_URLS]
    return tuple(sorted(common, key=lambda name: (places[name] / n_paths[name], name)))


def read_path(path: str, names: Sequence[str]) -> tuple[str, list[str]]:
    """Cut the parameters out of a path; return the rest, and the parts of a query that stand for them.

    If a segment has an unknown parameter, or an unusual order, it keeps all its parameters.

    >>> read_path("/shop;color=red/item/3", ("color",))
    ('/shop/item/3', [';color=0/red'])
    """
    kept: list[str] = []
    found: list[str] = []
    *segments, last = path.split("/")[1:]
    is_enclosed = False  # True if the segment before this one was in parentheses
    for segment in segments:
        if not is_enclosed and ENCLOSED in names and _IS_ENCLOSED(segment):
            found.append(f";{ENCLOSED}={len(kept)}/{segment[1:-1]}")
            is_enclosed = True
        else:
            kept.append(_without(segment, f"{len(kept)}/", names, found))
            is_enclosed = False
    kept.append(_without(last, "", names, found))
    return f"/{'/'.join(kept)}", found


def write_path(path: str, parts: Iterable[str], names: Sequence[str]) -> str:
    """Undo :func:`read_path`; parts that stand for no parameter of the path are ignored."""
    segments = path.split("/")[1:]
    before: dict[int, str] = {}  # place of a segment -> text in front of it
    behind: dict[int, list[tuple[int, str]]] = defaultdict(list)  # place of a segment -> rank and text of parameters
    for part in parts:
        if (match := _SAID(part)) is not None and match[1] in names:
            place = int(match[2] or len(segments) - 1)
            if match[1] == ENCLOSED:
                before[place] = f"({match[3]})/"
            else:
                behind[place].append((names.index(match[1]), f";{match[1]}={match[3]}"))
    return "".join(
        f"/{before.get(place, '')}{segment}{''.join([text for _, text in sorted(behind.get(place, ()))])}"
        for place, segment in enumerate(segments)
    )


def _without(segment: str, place: str, names: Sequence[str], found: list[str]) -> str:
    """Return a segment without its parameters, and append them to *found*."""
    if ";" not in segment or (match := _PARAMETERS(segment)) is None:
        return segment
    pairs = _pairs(match[2])
    if any(name not in names for name, _ in pairs):
        return segment
    if any(names.index(one) >= names.index(other) for (one, _), (other, _) in pairwise(pairs)):
        return segment
    found += [f";{name}={place}{value}" for name, value in pairs]
    return match[1]


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(name, value) for name, _, value in (part.partition("=") for part in text.split(";")[1:])]
