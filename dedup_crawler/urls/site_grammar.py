"""The URLs of one site in the usual grammar, and back without loss: what a site says in its paths becomes names.

RFC 3986 (section 3.3) lets a path segment hold parameters (``/item/3;jsessionid=A1B2``) and says nothing about them;
ASP.NET puts a session into a segment of its own (``/(S(A1B2))/item/3``). Read as parts of a path they shift the others
or stick to them. Here they are read as if they stood in the query, under names that begin with ``;``, so that all that
is known about names in a query holds of them; the place of one that does not stand at the end is part of its value:

============================  ============================
``/item/3;jsessionid=A1B2``   ``/item/3?;jsessionid=A1B2``
``/shop;color=red/item/3``    ``/shop/item/3?;color=0/red``
``/(S(A1B2))/item/3``         ``/item/3?;()=0/S(A1B2)``
============================  ============================

A name of the query that begins with ``;`` itself has one more there. Where the names of a site's queries stand between
semicolons, as HTML 4 recommends (appendix B.2.2), ``;`` and ``&`` of its queries are exchanged. What a site has is
learnt from its URLs; what is not read keeps its place.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from dedup_crawler.errors import BadInputError

MIN_URLS = 8
"""What fewer URLs have is no part of the grammar."""
_MAX_NAMES = 100
_MARK = ";"
_NAME = r"[A-Za-z0-9._~\-]+"
_PARAMETERS = re.compile(rf"([^;]*)((?:;{_NAME}=[^;&]*)+)", re.ASCII)
_ENCLOSED = re.compile(r"\((?:[A-Za-z][A-Za-z0-9]*\([^();&]*\))+\)", re.ASCII).fullmatch
_LIST = re.compile(rf"{_NAME}=[^;&]*(?:;{_NAME}=[^;&]*)+", re.ASCII).fullmatch
_EXCHANGED = str.maketrans("&;", ";&")
_ENCLOSED_NAME = ";()"
_PARAMETER = re.compile(rf";{_NAME}", re.ASCII).fullmatch
_PLACED = re.compile(r"([0-9]{1,4})/([^/]*)", re.ASCII).fullmatch


@dataclass(frozen=True)
class SiteGrammar:
    """How the URLs of one host are to be read.

    Parameters
    ----------
    parameters
        Names of path parameters, in the order in which they stand where there are several.
    has_enclosed
        Whether values stand in segments such as ``(S(A1B2))``.
    has_semicolons
        Whether ``;`` separates the names of a query, and ``&`` is part of a value.
    """

    parameters: tuple[str, ...] = ()
    has_enclosed: bool = False
    has_semicolons: bool = False
    _rank: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rank", {name: rank for rank, name in enumerate(self.parameters)})

    @classmethod
    def learn(cls, urls: Iterable[str]) -> SiteGrammar:
        """Find what at least 8 of *urls* (of one host, in normal form) have.

        >>> SiteGrammar.learn(f"http://a.example/item/{i};v={i % 2}" for i in range(8)).parameters
        ('v',)
        """
        n_urls: Counter[str] = Counter()
        places: dict[str, int] = defaultdict(int)
        n_enclosed = n_semicolons = n_ampersands = 0
        for url in urls:
            path, query = _path_and_query(url)
            n_semicolons += _LIST(query) is not None
            n_ampersands += "&" in query
            segments = path.split("/")
            n_enclosed += any(map(_ENCLOSED, segments[:-1]))
            in_url: dict[str, int] = {}
            for segment in segments:
                if ";" in segment and (match := _PARAMETERS.fullmatch(segment)) is not None:
                    names = [name for name, _ in _pairs(match[2])]
                    in_url.update({name: place for place, name in enumerate(names)})
            n_urls.update(in_url.keys())
            for name, place in in_url.items():
                places[name] += place
        common = [name for name, n in n_urls.most_common(_MAX_NAMES) if n >= MIN_URLS]
        common.sort(key=lambda name: (places[name] / n_urls[name], name))
        has_semicolons = n_semicolons >= MIN_URLS and n_semicolons > n_ampersands
        return cls(tuple(common), n_enclosed >= MIN_URLS, has_semicolons)

    def __bool__(self) -> bool:
        """Whether any URL is read otherwise than it stands."""
        return bool(self.parameters) or self.has_enclosed or self.has_semicolons

    def read(self, url: str) -> str:
        """*url* (in normal form) in the usual grammar; itself where it says nothing that has to be read.

        >>> SiteGrammar(("jsessionid",)).read("http://a.example/item/3;jsessionid=A1B2?x=1")
        'http://a.example/item/3?;jsessionid=A1B2&x=1'
        """
        if not self or not (";" in url or "(" in url or (self.has_semicolons and "&" in url)):
            return url
        start = url.find("/", url.find("://") + 3)
        path, question, query = url[start:].partition("?")
        if self.has_semicolons:
            query = query.translate(_EXCHANGED)
        kept: list[str] = []
        found: list[str] = []
        *segments, last = path.split("/")[1:]
        is_enclosed = False
        for segment in segments:
            if self.has_enclosed and not is_enclosed and _ENCLOSED(segment):
                found.append(f"{_ENCLOSED_NAME}={len(kept)}/{segment[1:-1]}")
                is_enclosed = True
                continue
            kept.append(self._without_parameters(segment, f"{len(kept)}/", found))
            is_enclosed = False
        kept.append(self._without_parameters(last, "", found))
        own = [_MARK + part if part[:1] == _MARK else part for part in query.split("&")] if question else []
        if not found and own == (query.split("&") if question else []):
            return f"{url[:start]}{path}{question}{query}"
        names = [_name_of(part) for part in own]
        parts = [*sorted(found, key=_name_of), *own]
        if names == sorted(names):
            parts.sort(key=_name_of)
        return f"{url[:start]}/{'/'.join(kept)}?{'&'.join(parts)}"

    def write(self, url: str) -> str | None:
        """What :meth:`read` reads as *url*; None if there is no such URL.

        >>> SiteGrammar(("jsessionid",)).write("http://a.example/item/3?;jsessionid=A1B2&x=1")
        'http://a.example/item/3;jsessionid=A1B2?x=1'
        """
        if not self:
            return url
        start = url.find("/", url.find("://") + 3)
        path, question, query = url[start:].partition("?")
        own: list[str] = []
        enclosed: dict[int, str] = {}
        parameters: dict[int, list[tuple[int, str]]] = defaultdict(list)
        segments = path.split("/")[1:]
        for part in query.split("&") if question else ():
            if part[:1] != _MARK or part[:2] == _MARK * 2:
                own.append(part[1:] if part[:1] == _MARK else part)
                continue
            name, equals, value = part.partition("=")
            placed = _PLACED(value)
            if placed is not None:
                place, value = int(placed[1]), placed[2]
            elif equals and _PARAMETER(name):
                place = len(segments) - 1
            else:
                return None
            if name == _ENCLOSED_NAME:
                enclosed[place] = f"({value})"
            else:
                parameters[place].append((self._rank.get(name[1:], -1), f"{name}={value}"))
        if max([-1, *enclosed, *parameters]) >= len(segments):
            return None
        written: list[str] = []
        for place, segment in enumerate(segments):
            if place in enclosed:
                written.append(enclosed[place])
            written.append("".join([segment, *[text for _, text in sorted(parameters.get(place, ()))]]))
        query = "&".join(own)
        if self.has_semicolons:
            query = query.translate(_EXCHANGED)
        found = f"{url[:start]}/{'/'.join(written)}{'?' if own else ''}{query}"
        return found if is_same(self.read(found), url) else None

    def _without_parameters(self, segment: str, place: str, found: list[str]) -> str:
        """What is left of a segment; its parameters are added to *found* if all are known and stand in order."""
        if ";" not in segment or (match := _PARAMETERS.fullmatch(segment)) is None:
            return segment
        pairs = _pairs(match[2])
        ranks = [self._rank.get(name, -1) for name, _ in pairs]
        if ranks[0] < 0 or any(rank <= before for before, rank in pairwise(ranks)):
            return segment
        found += [f"{_MARK}{name}={place}{value}" for name, value in pairs]
        return str(match[1])

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {"parameters": list(self.parameters), "enclosed": self.has_enclosed, "semicolons": self.has_semicolons}

    @classmethod
    def from_json(cls, value: Any, file: str) -> SiteGrammar:
        """Read what :meth:`to_json` gave.

        Raises
        ------
        BadInputError
            If it cannot have.
        """
        said = value if isinstance(value, dict) else {}
        names, enclosed, semicolons = said.get("parameters"), said.get("enclosed"), said.get("semicolons", False)
        if (
            not isinstance(names, list)
            or not all(isinstance(name, str) and re.fullmatch(_NAME, name) for name in names)
            or not isinstance(enclosed, bool)
            or not isinstance(semicolons, bool)
        ):
            raise BadInputError(f"{file}: {value!r} is no grammar of URLs.")
        return cls(tuple(dict.fromkeys(names)), enclosed, semicolons)


USUAL = SiteGrammar()
"""Nothing is read otherwise than it stands."""


def spoken_name(name: str) -> str:
    """A name of the usual grammar, for a person: what it stands for where it is none of the query.

    >>> spoken_name("sid"), spoken_name(";jsessionid")
    ('`sid`', 'path parameter `jsessionid`')
    """
    if name == _ENCLOSED_NAME:
        return "the path part in parentheses"
    if _PARAMETER(name) is not None:
        return f"path parameter `{name[1:]}`"
    return f"`{name.removeprefix(_MARK)}`" if name[:2] == _MARK * 2 else f"`{name}`"


def is_marked(name: str) -> bool:
    """Whether a name of the usual grammar is none of the query, or not as it stands there."""
    return name[:1] == _MARK


def is_same(one: str, other: str) -> bool:
    """Whether two URLs are the same but for the order of their names."""
    if one == other:
        return True
    path, _, query = one.partition("?")
    other_path, _, other_query = other.partition("?")
    return path == other_path and sorted(query.split("&"), key=_name_of) == sorted(other_query.split("&"), key=_name_of)


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs = []
    for part in text.split(";")[1:]:
        name, _, value = part.partition("=")
        pairs.append((name, value))
    return pairs


def _name_of(part: str) -> str:
    return part.partition("=")[0]


def _path_and_query(url: str) -> tuple[str, str]:
    start = url.find("/", url.find("://") + 3)
    path, _, query = url[start:].partition("?")
    return path, query
