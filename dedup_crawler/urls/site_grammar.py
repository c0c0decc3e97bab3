"""The grammar of a site's URLs: rewrites a URL so that all its names stand in the query, and back without loss.

Some sites put names and values into the path (:mod:`~dedup_crawler.urls.path_names`), or lists into a value
(``tags=a,b``). The grammar moves the names into the query, and reads a list as a name that is repeated, so that rules
about query names apply to them. The moved names begin with ``;``, those of lists end with ``;,``; a query name that
already does so gets one more ``;``. If the site separates query names by semicolons, as HTML 4 recommends (appendix
B.2.2), ``;`` and ``&`` change places in its queries. The grammar is learnt from the site's URLs. Everything else keeps
its place.

A value is a list if another URL of the site has the same elements in another order and is otherwise the same. That does
not mean that the order does not matter: the learner asks that as for any repeated name.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dedup_crawler.json_values import JsonValue
from dedup_crawler.urls import path_names
from dedup_crawler.urls.keyvalue import name_of

_LIST_MARK = ";,"  # end of the names that stand for elements of a list
MIN_ORDERS = 8
"""Smallest number of URLs that repeat the elements of another URL in another order."""
_DELIMITERS = (",", "+", "|", "%2C", "%20", "%7C")
_MAX_ELEMENTS = 20
_MAX_PARTS = 20  # longer queries teach nothing: a stranger may write thousands of parts
_MAX_NAMES = 100
MIN_URLS = 8
"""A site separates query names by semicolons if at least this many queries do, and more than use ``&``."""
_MARK = ";"
_IS_LIST = re.compile(rf"{path_names.NAME}=[^;&]*(?:;{path_names.NAME}=[^;&]*)+", re.ASCII).fullmatch
_EXCHANGED = str.maketrans("&;", ";&")


def learn_lists(queries: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Find the names whose values are lists, with their delimiters; *queries* holds path and query of each URL.

    >>> orders = [("/", f"tags={one},{other}") for one in "abcde" for other in "abcde"]
    >>> learn_lists(orders)
    {'tags': ','}
    """
    orders: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path, query in queries:
        parts = query.split("&")
        if len(parts) > _MAX_PARTS:
            continue
        for place, part in enumerate(parts):
            name, _, value = part.partition("=")
            for delimiter in _DELIMITERS:
                if 0 < value.count(delimiter) < _MAX_ELEMENTS:
                    elements = value.split(delimiter)
                    rest = "&".join([path, *parts[:place], *parts[place + 1 :], *sorted(elements)])
                    orders[name, delimiter][rest].add(value)
    n_orders = Counter({key: sum(len(its) - 1 for its in found.values()) for key, found in orders.items()})
    lists: dict[str, str] = {}
    for (name, delimiter), n in n_orders.most_common(_MAX_NAMES):
        if n >= MIN_ORDERS and is_list(name, delimiter):
            lists.setdefault(name, delimiter)
    return lists


def is_list(name: str, delimiter: str) -> bool:
    """Return True if this may be a name and its delimiter."""
    return name[-1:] not in ("", ";") and delimiter in _DELIMITERS


def read_lists(parts: Sequence[str], lists: Mapping[str, str]) -> list[str]:
    """Replace each list among the parts of a query by one part for each element.

    >>> read_lists(["tags=a,b", "x=1"], {"tags": ","})
    ['tags;,=a', 'tags;,=b', 'x=1']
    """
    names = [part.partition("=")[0] for part in parts]
    n_times = Counter(names)
    read: list[str] = []
    for name, part in zip(names, parts, strict=True):
        delimiter = lists.get(name)
        elements = part[len(name) + 1 :].split(delimiter) if delimiter is not None and "=" in part else []
        if elements and len(elements) <= _MAX_ELEMENTS and n_times[name] == 1:
            read += [f"{name}{_LIST_MARK}={element}" for element in elements]
        else:
            read.append(f"{name[:-1]}{_LIST_MARK}{part[len(name) :]}" if name.endswith(_LIST_MARK) else part)
    return read


def write_lists(parts: Sequence[str], lists: Mapping[str, str]) -> list[str]:
    """Undo :func:`read_lists`; elements of unknown lists are left alone."""
    written: list[tuple[str, list[str]]] = []
    elements: dict[str, list[str]] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        known = name.removesuffix(_LIST_MARK)
        if name.endswith(f";{_LIST_MARK}"):  # the name itself ends so
            written.append(("", [f"{name[: -len(_LIST_MARK)]},{equals}{value}"]))
        elif known == name or known not in lists or not equals:
            written.append(("", [part]))
        else:
            if known not in elements:
                elements[known] = []
                written.append((known, elements[known]))
            elements[known].append(value)
    return [f"{name}={lists[name].join(values)}" if name else values[0] for name, values in written]


@dataclass(frozen=True)
class SiteGrammar:
    """Grammar of the URLs of one host. URLs are in normal form."""

    parameters: tuple[str, ...] = ()
    """Names of path parameters, in their usual order; ``()`` for values in parentheses."""
    segments: tuple[str, ...] = ()
    """Names of path segments, with their delimiters, in their usual order."""
    has_semicolons: bool = False
    """True if ``;`` separates the names of a query, and ``&`` is part of a value."""
    lists: Mapping[str, str] = field(default_factory=dict)
    """Query name -> delimiter between the elements of its values."""

    @classmethod
    def learn(cls, urls: Iterable[str]) -> SiteGrammar:
        """Learn the grammar that enough *urls* of one host share.

        >>> SiteGrammar.learn(f"http://a.example/item/{i};v={i % 2}" for i in range(8)).parameters
        ('v',)
        """
        urls = list(urls)
        parts = [_taken_apart(url) for url in urls]
        names = path_names.learn_parameters(path for _, path, _ in parts)
        left = [path_names.read_parameters(path, names)[0] for _, path, _ in parts]
        n_semicolons = sum(_IS_LIST(query or "") is not None for _, _, query in parts)
        n_ampersands = sum("&" in (query or "") for _, _, query in parts)
        found = cls(names, path_names.learn_segments(left), n_semicolons >= MIN_URLS and n_semicolons > n_ampersands)
        read = (_taken_apart(found.read(url)) for url in urls)
        return replace(found, lists=learn_lists((path, query or "") for _, path, query in read))

    def __bool__(self) -> bool:
        """Return True if :meth:`read` changes any URL."""
        return bool(self.parameters or self.segments or self.has_semicolons or self.lists)

    def read(self, url: str) -> str:
        """Move the names of *url* that the grammar knows into its query.

        >>> SiteGrammar(("jsessionid",)).read("http://a.example/item/3;jsessionid=A1B2?x=1")
        'http://a.example/item/3?;jsessionid=A1B2&x=1'
        """
        if not self:
            return url
        start, path, query = _taken_apart(url)
        if query is not None and self.has_semicolons:
            query = query.translate(_EXCHANGED)
        own = [] if query is None else [_MARK + part if part[:1] == _MARK else part for part in query.split("&")]
        found: list[str] = []
        if ";" in path or "(" in path:
            path, found = path_names.read_parameters(path, self.parameters)
        if self.segments:
            path, named = path_names.read_segments(path, self.segments)
            found += named
        if self.lists:
            found, own = read_lists(found, self.lists), read_lists(own, self.lists)
        parts = [*sorted(found, key=name_of), *own]
        names = list(map(name_of, own))
        if found and names == sorted(names):
            parts.sort(key=name_of)
        return f"{start}{path}?{'&'.join(parts)}" if parts else f"{start}{path}"

    def write(self, url: str) -> str | None:
        """Undo :meth:`read`, except for the order of query names; None if *url* is not a result of :meth:`read`.

        >>> SiteGrammar(("jsessionid",)).write("http://a.example/item/3?;jsessionid=A1B2&x=1")
        'http://a.example/item/3;jsessionid=A1B2?x=1'
        """
        if not self:
            return url
        start, path, query = _taken_apart(url)
        parts = [] if query is None else query.split("&")
        if self.lists:
            parts = write_lists(parts, self.lists)
        marked = [part for part in parts if part[:1] == _MARK and part[:2] != _MARK * 2]
        path = path_names.write_segments(path, marked, self.segments)
        path = path_names.write_parameters(path, marked, self.parameters)
        own = [part[1:] if part[:1] == _MARK else part for part in parts if part not in marked]
        written = "&".join(own).translate(_EXCHANGED) if self.has_semicolons else "&".join(own)
        found = f"{start}{path}?{written}" if own else f"{start}{path}"
        return found if is_same(self.read(found), url) else None

    def to_json(self) -> dict[str, Any]:
        """Return the grammar as JSON values."""
        return {
            "parameters": list(self.parameters),
            "segments": list(self.segments),
            "semicolons": self.has_semicolons,
            "lists": dict(self.lists),
        }

    @classmethod
    def from_json(cls, value: JsonValue) -> SiteGrammar:
        """Read the result of :meth:`to_json`; BadInputError if *value* is not one."""
        parameters, segments = value["parameters"].texts(), value["segments"].texts()
        lists = {name: separator.text() for name, separator in value["lists"].table().items()}
        if not all(map(path_names.is_parameter, parameters)):
            value["parameters"].refuse("names of path parameters")
        if not all(map(path_names.is_segment, segments)):
            value["segments"].refuse("names of segments")
        if not all(map(is_list, lists, lists.values())):
            value["lists"].refuse("names with their separators")
        flag = value["semicolons"].flag()
        return cls(tuple(dict.fromkeys(parameters)), tuple(dict.fromkeys(segments)), flag, lists)


USUAL = SiteGrammar()
"""The usual grammar: :meth:`~SiteGrammar.read` changes nothing."""


def spoken_name(name: str) -> str:
    """Describe a name that :meth:`SiteGrammar.read` writes, for a person.

    >>> spoken_name("sid"), spoken_name(";jsessionid"), spoken_name(";tags:;,")
    ('`sid`', 'path parameter `jsessionid`', '`tags:` of the path')
    """
    if not name.endswith(f";{_LIST_MARK}"):
        name = name.removesuffix(_LIST_MARK)
    if name == f"{_MARK}{path_names.ENCLOSED}":
        return "the path part in parentheses"
    if name == f"{_MARK}{path_names.ORDER}":
        return "the order of names in the path"
    if name[:1] == _MARK and (segment := path_names.spoken(name[1:])) is not None:
        return f"`{segment}` of the path"
    if name[:1] == _MARK and path_names.is_parameter(name[1:]):
        return f"path parameter `{name[1:]}`"
    return f"`{name.removeprefix(_MARK)}`" if name[:2] == _MARK * 2 else f"`{name}`"


def is_same(one: str, other: str) -> bool:
    """Return True if two URLs differ at most in the order of their query names."""
    if one == other:
        return True
    path, _, query = one.partition("?")
    other_path, _, other_query = other.partition("?")
    return path == other_path and sorted(query.split("&"), key=name_of) == sorted(other_query.split("&"), key=name_of)


def _taken_apart(url: str) -> tuple[str, str, str | None]:
    """Split a URL into scheme and host, path, and query (None without ``?``)."""
    start = url.find("/", url.find("://") + 3)
    path, question, query = url[start:].partition("?")
    return url[:start], path, query if question else None
