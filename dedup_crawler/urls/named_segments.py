"""Segments with names at the end of a path, read as names of the query, and back without loss.

``/questions/scope:all/sort:votes/page:2/`` has three such segments. Any of them may be missing, which would shift the
path parts behind it. So the path is read as ``/questions/?;page:=2&;scope:=all&;sort:=votes`` (a segment ``page=2`` as
``;page/=2``). The names are learnt from the URLs of the site. A name must mostly stand beside others: a single
``Talk:Title`` is no list.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

MIN_URLS = 8
"""Smallest number of paths that must have a name."""
_MAX_NAMES = 100
ORDER = "/"
"""Name of the part of a query that gives the order of the segments, if it is unusual."""
_NAME = r"[A-Za-z][A-Za-z0-9_.~\-]*[:=]"
_NAMED = re.compile(rf"({_NAME})([^;&]*)", re.ASCII).fullmatch
_IS_NAME = re.compile(_NAME, re.ASCII).fullmatch
_SAID = re.compile(r";([A-Za-z][A-Za-z0-9_.~\-]*[:/])=([^/;]*)", re.ASCII).fullmatch


def is_name(name: object) -> bool:
    """Return True if this may be the name of a segment, with its delimiter."""
    return isinstance(name, str) and _IS_NAME(name) is not None


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
    return name.replace("/", "=") if _SAID(f";{name}=") is not None else None


def learn_names(paths: Iterable[str]) -> tuple[str, ...]:
    """Find the names (with their delimiters) that mostly stand beside others, in their usual order.

    At least 8 paths have the name in a list of two names, or of three names if a colon ends one of them: wikis write
    ``Special:Links/Talk:Title``, which is no list.

    >>> learn_names(f"/all/sort={n}/page={n}/" for n in range(8))
    ('sort=', 'page=')
    """
    n_paths: Counter[str] = Counter()
    n_beside: Counter[str] = Counter()
    n_listed: Counter[str] = Counter()
    places: dict[str, int] = defaultdict(int)
    for path in paths:
        if ":" in path or "=" in path:
            names = [name for name, _ in _split(path)[1]]
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


def read_path(path: str, names: Sequence[str]) -> tuple[str, list[str]]:
    """Cut the named segments from the end of a path; return the rest, and the parts of a query that stand for them.

    If a name is unknown or repeated, the path stays whole. If the order is unusual, one more part says what it is.

    >>> read_path("/all/sort:votes/page:2/", ("sort:", "page:"))
    ('/all/', [';sort:=votes', ';page:=2'])
    >>> read_path("/all/page:2/sort:votes/", ("sort:", "page:"))
    ('/all/', [';page:=2', ';sort:=votes', ';/=page:,sort:'])
    """
    left, found = _split(path)
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


def write_path(path: str, parts: Iterable[str], names: Sequence[str]) -> str:
    """Undo :func:`read_path`; parts that stand for no segment are ignored."""
    found: list[tuple[str, str]] = []
    order = list(names)
    for part in parts:
        if (match := _SAID(part)) is not None:
            found.append((match[1].replace("/", "="), match[2]))
        elif part.startswith(f";{ORDER}="):
            order = [*part.partition("=")[2].replace("/", "=").split(","), *names]
    found.sort(key=lambda said: order.index(said[0]) if said[0] in order else len(order))
    end = "/" if path[-1:] == "/" else ""
    return "/".join([path.removesuffix("/"), *[name + value for name, value in found]]) + end


def _are_list(names: Sequence[str]) -> bool:
    """Return True if *names* are a list; False if they may be a title, as in ``Talk:Title``."""
    return len(names) > 2 or (len(names) == 2 and all(name[-1] == "=" for name in names))


def _split(path: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Split a path into its plain segments, and the names and values of the named segments at its end.

    The empty segment behind a trailing slash is a plain one.
    """
    segments = path.split("/")[1:]
    end = segments[-1:] if segments[-1:] == [""] else []
    kept = segments[: len(segments) - len(end)]
    found: list[tuple[str, str]] = []
    while kept and (match := _NAMED(kept[-1])) is not None:
        found.append((match[1], match[2]))
        kept.pop()
    return [*kept, *end], found[::-1]
