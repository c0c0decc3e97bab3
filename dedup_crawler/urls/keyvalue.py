"""A URL as a map of keys to values, as KDD'08, WSDM'10 and WWW'10 read it.

T. Lei, R. Cai, J.-M. Yang, Y. Ke, X. Fan, L. Zhang, "A pattern tree-based approach to learning URL normalization
rules", WWW 2010, section 3: split by the delimiters of RFC 3986; before ``?`` keys are positions, after it they are
the names before ``=``.

The papers leave some points open. Here ``path[0]`` is the first path part, and ``path.length`` the number of path
parts. The extension and the trailing slash are keys of their own. The second ``f=`` of a query is ``query[f]#2``. The
host, which no rule changes, and the order of the query are not part of the map.

*Deep keys* are those of H. S. Koppula et al., "Learning URL patterns for webpage de-duplication", WSDM 2010, which we
could not get. By patents of the same group, a delimiter cuts the values of a key if enough of them contain it
(delimiter support). We decided: half of the values are enough. If half of the values have the same number of pieces,
every piece gets a key; otherwise the first piece and the rest do. Pieces are cut again, up to three levels.
``path[1]`` becomes ``path[1]@0``, ``path[1]@1`` and so on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from dedup_crawler.json_values import JsonValue

_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,8}").fullmatch
_DELIMITER = re.compile(r"%[0-9A-F]{2}|[^A-Za-z0-9%]")
_MIN_SUPPORT = 0.5
_MIN_VALUES = 10
_MAX_LEVELS = 3
_MAX_PIECES = 8

KeyValues = dict[str, "str | None"]


class Pieces(NamedTuple):
    """Cuts of the values of a key."""

    delimiter: str
    n_pieces: int
    """Largest number of pieces; the last piece holds the rest of the value."""


class UrlMap:
    """Reads the scheme, path and query of a URL as a map of keys to values, and writes the map back.

    *cuts* says for each key how its values are cut. The key of a piece must come after the key of the whole value.
    """

    def __init__(self, cuts: Mapping[str, Pieces] | None = None) -> None:
        self.cuts = dict(cuts or {})
        self._plan = [(key, cut, tuple(f"{key}@{i}" for i in range(cut.n_pieces))) for key, cut in self.cuts.items()]

    def read(self, rest: str, scheme: str) -> KeyValues:
        """Map of *rest* (path and query, in normal form) and *scheme*.

        A query key without ``=`` has the value None; ``k=`` has the empty string; a missing key is missing.

        >>> UrlMap().read("/view/topic.php?t=4&f&t=5", "http")  # doctest: +NORMALIZE_WHITESPACE
        {'scheme': 'http', 'path.length': '2', 'ext': '.php', 'path[0]': 'view', 'path[1]': 'topic', 'query[t]': '4',
         'query[f]': None, 'query[t]#2': '5'}
        >>> UrlMap({"path[0]": Pieces("-", 2)}).read("/7-a-title", "http")
        {'scheme': 'http', 'path.length': '1', 'path[0]@0': '7', 'path[0]@1': 'a-title'}
        """
        values: KeyValues = {"scheme": scheme}
        path, question, query = rest.partition("?")
        _read_path(path, values)
        if question:
            repeated: dict[str, int] = {}
            for part in query.split("&"):
                name, equals, value = part.partition("=")
                key = f"query[{name}]"
                if key in values:
                    repeated[key] = repeated.get(key, 1) + 1
                    key = f"{key}#{repeated[key]}"
                values[key] = value if equals else None
        for key, (delimiter, n_pieces), keys in self._plan:
            whole = values.get(key)
            if whole is not None:
                del values[key]
                values.update(zip(keys, whole.split(delimiter, n_pieces - 1), strict=False))
        return values

    def write(self, values: Mapping[str, str | None]) -> str:
        """Path and query of a map, the query sorted by key (repeated keys keep their order).

        A missing piece leaves no delimiter.

        >>> UrlMap().write({"path.length": "1", "path[0]": "topic", "ext": ".php", "query[t]": "4", "query[f]": None})
        '/topic.php?f&t=4'
        """
        if self._plan:
            values = dict(values)
            for key, (delimiter, _), keys in reversed(self._plan):
                pieces = [values.pop(piece) or "" for piece in keys if piece in values]
                if pieces and key not in values:
                    values[key] = delimiter.join(pieces)
        path = "/" if "root" not in values else ""
        length = int(values.get("path.length") or 0)
        path += "/".join([values.get(f"path[{i}]") or "" for i in range(length)])
        path += (values.get("ext") or "") + (values.get("slash") or "")
        query = []
        for key, value in values.items():
            if key[:6] == "query[":
                if key[-1] == "]":
                    query.append((key[6:-1], 1, value))
                else:
                    bracketed, _, number = key.rpartition("#")
                    if number.isdecimal():  # else a rule has set a piece of a value, which this map does not cut
                        query.append((bracketed[6:-1], int(number), value))
        if not query:
            return path
        if len(query) > 1:
            query.sort(key=lambda entry: entry[:2])
        return f"{path}?{'&'.join([name if value is None else f'{name}={value}' for name, _, value in query])}"

    def needed_by(self, keys: Collection[str]) -> UrlMap:
        """The map with only those cuts whose pieces are among *keys*; reading is faster with few cuts."""
        return UrlMap({key: cut for key, cut in self.cuts.items() if any(k.startswith(f"{key}@") for k in keys)})

    def to_json(self) -> dict[str, Any]:
        """Key -> delimiter and number of pieces."""
        return {key: list(cut) for key, cut in self.cuts.items()}

    @classmethod
    def from_json(cls, value: JsonValue) -> UrlMap:
        """Read the result of :meth:`to_json`; BadInputError if *value* is not one."""
        cuts = {}
        for key, entry in value.table().items():
            said = entry.values()
            if len(said) != 2 or not said[0].text() or not 2 <= said[1].count() <= _MAX_PIECES:
                entry.refuse(f"a delimiter and 2 to {_MAX_PIECES} pieces")
            cuts[key] = Pieces(said[0].text(), said[1].count())
        return cls(cuts)


KEY_VALUES = UrlMap()
"""The map that cuts no value."""


def learn_cuts(maps: Iterable[KeyValues]) -> dict[str, Pieces]:
    """Learn how to cut the values of path and query in the URLs of a host."""
    columns: dict[str, Counter[str]] = {}
    for values in maps:
        for key, value in values.items():
            if value and key.startswith(("path[", "query[")):
                columns.setdefault(key, Counter())[value] += 1
    cuts: dict[str, Pieces] = {}
    level = columns
    for _ in range(_MAX_LEVELS):
        pieces: dict[str, Counter[str]] = {}
        for key, column in level.items():
            cut = cut_of(column)
            if cut is not None:
                cuts[key] = cut
                for value, n in column.items():
                    for i, piece in enumerate(value.split(cut.delimiter, cut.n_pieces - 1)):
                        pieces.setdefault(f"{key}@{i}", Counter())[piece] += n
        level = pieces
    return cuts


def cut_of(column: Counter[str]) -> Pieces | None:
    """Cut the values of one key at the delimiter with the highest support; None if no support is high enough.

    >>> cut_of(Counter({f"story_{i}-page-2": 1 for i in range(20)}))
    Pieces(delimiter='_', n_pieces=2)
    """
    total = column.total()
    if len(column) < _MIN_VALUES:
        return None
    support: Counter[str] = Counter()
    sizes: dict[str, Counter[int]] = {}
    for value, n in column.items():
        for delimiter, n_found in Counter(_DELIMITER.findall(value)).items():
            support[delimiter] += n
            sizes.setdefault(delimiter, Counter())[n_found + 1] += n
    best: tuple[float, int, str] | None = None
    for delimiter, n in support.items():
        if n >= _MIN_SUPPORT * total:
            size, n_alike = sizes[delimiter].most_common(1)[0]
            n_pieces = min(size, _MAX_PIECES) if n_alike >= _MIN_SUPPORT * total else 2
            best = min(best or (0.0, 0, ""), (-n / total, n_pieces, delimiter))
    return Pieces(best[2], best[1]) if best is not None else None


def values_of(url: str) -> KeyValues:
    """Map of an absolute URL in normal form."""
    scheme, _, behind = url.partition("://")
    return KEY_VALUES.read(behind[behind.find("/") :], scheme)


def name_of(part: str) -> str:
    """Name in a part of a query: all of it without ``=``."""
    return part.partition("=")[0]


def query_names(url: str) -> list[str]:
    """Names in the query of a URL, in order.

    >>> query_names("/topic?t=4&f&t=5")
    ['t', 'f', 't']
    """
    query = url.partition("?")[2]
    return [part.partition("=")[0] for part in query.split("&")] if query else []


def is_other_query_order(url: str, form: str) -> bool:
    """Return True if *form*, which is sorted, has query names of *url* in another order than *url*.

    >>> is_other_query_order("http://a/?t=4&f=1", "http://a/?f=1&t=4")
    True
    >>> is_other_query_order("http://a/?t=4&f=1", "http://a/?t=4")
    False
    """
    left = set(query_names(form))
    kept = [name for name in query_names(url) if name in left] if len(left) > 1 else []
    return kept != sorted(kept)


def _read_path(path: str, into: KeyValues) -> None:
    if path[:1] == "/":
        path = path[1:]
    else:
        into["root"] = ""  # not an absolute URL
    if len(path) > 1 and path[-1] == "/":
        into["slash"] = "/"
        path = path[:-1]
    if not path:
        into["path.length"] = "0"
        return
    components = path.split("/")
    into["path.length"] = str(len(components))
    last = components[-1]
    dot = last.rfind(".")
    if dot > 0 and _EXTENSION(last, dot):
        into["ext"] = last[dot:]
        components[-1] = last[:dot]
    into.update({f"path[{i}]": component for i, component in enumerate(components)})
