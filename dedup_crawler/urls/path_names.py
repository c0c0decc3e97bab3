"""Names and values in a path, read as names of the query, and back without loss. They are learnt from a site's URLs.

*Parameters:* RFC 3986 (section 3.3) allows parameters in a path segment (``/item/3;jsessionid=A1B2``). ASP.NET puts a
session into a segment of its own (``/(S(A1B2))/item/3``). Read as path parts, they would shift other parts or change
them. If a parameter is not at the end of the path, its value begins with the place of its segment:

============================  ============================
``/item/3;jsessionid=A1B2``   ``/item/3?;jsessionid=A1B2``
``/shop;color=red/item/3``    ``/shop/item/3?;color=0/red``
``/(S(A1B2))/item/3``         ``/item/3?;()=0/S(A1B2)``
============================  ============================

*Segments:* ``/questions/scope:all/sort:votes/page:2/`` has three segments with names at the end of the path. Any of
them may be missing, which would shift the path parts behind it. So the path is read as
``/questions/?;page:=2&;scope:=all&;sort:=votes`` (a segment ``page=2`` as ``;page/=2``). A name must mostly stand
beside others: a single ``Talk:Title`` is no list.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

ENCLOSED = "()"
"""Name of values in parentheses."""
ORDER = "/"
"""Name of the part of a query that gives the order of the segments, if it is unusual."""
MIN_URLS = 8
"""Smallest number of paths that must have a name."""
_MAX_NAMES = 100
NAME = r"[A-Za-z0-9._~\-]+"
"""Regular expression of the name of a parameter."""
_PARAMETERS = re.compile(rf"([^;]*)((?:;{NAME}=[^;&]*)+)", re.ASCII).fullmatch
_IS_ENCLOSED = re.compile(r"\((?:[A-Za-z][A-Za-z0-9]*\([^();&]*\))+\)", re.ASCII).fullmatch
is_parameter = re.compile(rf"{NAME}|\(\)", re.ASCII).fullmatch
"""Match the name of a parameter."""
_PARAMETER_SAID = re.compile(rf";({NAME}|\(\))=(?:([0-9]{{1,4}})/)?([^/;&]*)", re.ASCII).fullmatch
_SEGMENT_NAME = r"[A-Za-z][A-Za-z0-9_.~\-]*[:=]"
_SEGMENT = re.compile(rf"({_SEGMENT_NAME})([^;&]*)", re.ASCII).fullmatch
is_segment = re.compile(_SEGMENT_NAME, re.ASCII).fullmatch
"""Match the name of a segment, with its delimiter."""
_SEGMENT_SAID = re.compile(r";([A-Za-z][A-Za-z0-9_.~\-]*[:/])=([^/;]*)", re.ASCII).fullmatch


def learn_parameters(paths: Iterable[str]) -> tuple[str, ...]:
    """Find the names of parameters that at least 8 paths have, in their usual order.

    >>> learn_parameters(f"/item/{i};lang=en;v={i % 2}" for i in range(8))
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
                in_path.update({name: place for place, (name, _) in enumerate(_parameters_of(match[2]))})
        n_paths.update(in_path.keys())
        for name, place in in_path.items():
            places[name] += place
    common = [name for name, n in n_paths.most_common(_MAX_NAMES) if n >= MIN_URLS]
    return tuple(sorted(common, key=lambda name: (places[name] / n_paths[name], name)))


def read_parameters(path: str, names: Sequence[str]) -> tuple[str, list[str]]:
    """Cut the parameters out of a path; return the rest, and the parts of a query that stand for them.

    If a segment has an unknown parameter, or an unusual order, it keeps all its parameters.

    >>> read_parameters("/shop;color=red/item/3", ("color",))
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
            kept.append(_without_parameters(segment, f"{len(kept)}/", names, found))
            is_enclosed = False
    kept.append(_without_parameters(last, "", names, found))
    return f"/{'/'.join(kept)}", found


def write_parameters(path: str, parts: Iterable[str], names: Sequence[str]) -> str:
    """Undo :func:`read_parameters`; parts that stand for no parameter of the path are ignored."""
    segments = path.split("/")[1:]
    before: dict[int, str] = {}  # place of a segment -> text in front of it
    behind: dict[int, list[tuple[int, str]]] = defaultdict(list)  # place of a segment -> rank and text of parameters
    for part in parts:
        if (match := _PARAMETER_SAID(part)) is not None and match[1] in names:
            place = int(match[2] or len(segments) - 1)
            if match[1] == ENCLOSED:
                before[place] = f"({match[3]})/"
            else:
                behind[place].append((names.index(match[1]), f";{match[1]}={match[3]}"))
    return "".join(
        f"/{before.get(place, '')}{segment}{''.join([text for _, text in sorted(behind.get(place, ()))])}"
        for place, segment in enumerate(segments)
    )


def _without_parameters(segment: str, place: str, names: Sequence[str], found: list[str]) -> str:
    """Return a segment without its parameters, and append them to *found*."""
    if ";" not in segment or (match := _PARAMETERS(segment)) is None:
        return segment
    pairs = _parameters_of(match[2])
    if any(name not in names for name, _ in pairs):
        return segment
    if any(names.index(one) >= names.index(other) for (one, _), (other, _) in pairwise(pairs)):
        return segment
    found += [f";{name}={place}{value}" for name, value in pairs]
    return match[1]


def _parameters_of(text: str) -> list[tuple[str, str]]:
    return [(name, value) for name, _, value in (part.partition("=") for part in text.split(";")[1:])]


def key_name(name: str) -> str:
    """Write a name so that it can stand in a query, where ``=`` ends it.

    >>> key_name("page:"), key_name("page=")
    ('page:', 'page/')
    """
    return name.replace("=", "/")


def spoken(name: str) -> str | None:
    """Undo :func:`key_name`; None if *name* is not the name of a segment.

    >>> spoken("page/"), spoken("page")
    ('page=', None)
    """
    return name.replace("/", "=") if _SEGMENT_SAID(f";{name}=") is not None else None


def learn_segments(paths: Iterable[str]) -> tuple[str, ...]:
    """Find the names (with their delimiters) that mostly stand beside others, in their usual order.

    At least 8 paths have the name in a list of two names, or of three names if a colon ends one of them: wikis write
    ``Special:Links/Talk:Title``, which is no list.

    >>> learn_segments(f"/all/sort={n}/page={n}/" for n in range(8))
    ('sort=', 'page=')
    """
    n_paths: Counter[str] = Counter()
    n_beside: Counter[str] = Counter()
    n_listed: Counter[str] = Counter()
    places: dict[str, int] = defaultdict(int)
    for path in paths:
        if ":" in path or "=" in path:
            names = [name for name, _ in _named_end(path)[1]]
            n_paths.update(set(names))
            if len(names) > 1 and len(set(names)) == len(names):
                n_beside.update(names)
                n_listed.update(names if _are_list(names) else ())
                for place, name in enumerate(names):
                    places[name] += place
    listed = [name for name, n in n_listed.most_common(_MAX_NAMES) if n >= MIN_URLS]
    common = [name for name in listed if 2 * n_beside[name] > n_paths[name]]
    if not _are_list(common):
        return ()
    return tuple(sorted(common, key=lambda name: (places[name] / n_beside[name], name)))


def read_segments(path: str, names: Sequence[str]) -> tuple[str, list[str]]:
    """Cut the named segments from the end of a path; return the rest, and the parts of a query that stand for them.

    If a name is unknown or repeated, the path stays whole. If the order is unusual, one more part says what it is.

    >>> read_segments("/all/sort:votes/page:2/", ("sort:", "page:"))
    ('/all/', [';sort:=votes', ';page:=2'])
    >>> read_segments("/all/page:2/sort:votes/", ("sort:", "page:"))
    ('/all/', [';page:=2', ';sort:=votes', ';/=page:,sort:'])
    """
    left, found = _named_end(path)
    if not found or any(name not in names for name, _ in found):
        return path, []
    if path[-1:] != "/" and left[-1:] in ([], [""]):  # the rest would end with a slash that *path* does not have
        return path, []
    parts = [f";{key_name(name)}={value}" for name, value in found]
    ranks = [names.index(name) for name, _ in found]
    if len(set(ranks)) < len(ranks):
        return path, []
    if ranks != sorted(ranks):
        parts.append(f";{ORDER}={','.join([key_name(name) for name, _ in found])}")
    return f"/{'/'.join(left)}", parts


def write_segments(path: str, parts: Iterable[str], names: Sequence[str]) -> str:
    """Undo :func:`read_segments`; parts that stand for no segment are ignored."""
    found: list[tuple[str, str]] = []
    order = list(names)
    for part in parts:
        if (match := _SEGMENT_SAID(part)) is not None:
            found.append((match[1].replace("/", "="), match[2]))
        elif part.startswith(f";{ORDER}="):
            order = [*part.partition("=")[2].replace("/", "=").split(","), *names]
    found.sort(key=lambda said: order.index(said[0]) if said[0] in order else len(order))
    end = "/" if path[-1:] == "/" else ""
    return "/".join([path.removesuffix("/"), *[name + value for name, value in found]]) + end


def _are_list(names: Sequence[str]) -> bool:
    """Return True if *names* are a list; False if they may be a title, as in ``Talk:Title``."""
    return len(names) > 2 or (len(names) == 2 and all(name[-1] == "=" for name in names))


def _named_end(path: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Split a path into its plain segments, and the names and values of the named segments at its end.

    The empty segment behind a trailing slash is a plain one.
    """
    segments = path.split("/")[1:]
    end = segments[-1:] if segments[-1:] == [""] else []
    kept = segments[: len(segments) - len(end)]
    found: list[tuple[str, str]] = []
    while kept and (match := _SEGMENT(kept[-1])) is not None:
        found.append((match[1], match[2]))
        kept.pop()
    return [*kept, *end], found[::-1]
