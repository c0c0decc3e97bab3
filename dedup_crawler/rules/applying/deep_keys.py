"""Deep keys: values cut into pieces at the delimiters that a site uses.

H. S. Koppula et al., "Learning URL patterns for webpage de-duplication", WSDM 2010. We could not get the paper. By
patents of the same group, a delimiter cuts the values of a key if enough of them contain it (delimiter support). We
decided: half of the values are enough. If half of the values have the same number of pieces, every piece gets a key;
otherwise the first piece and the rest do. Pieces are cut again, up to three levels. ``path[1]`` becomes ``path[1]@0``,
``path[1]@1`` and so on, from the left.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.language.url_maps import KEY_VALUES, UrlMap
from dedup_crawler.urls.keyvalue import KeyValues

_DELIMITER = re.compile(r"%[0-9A-F]{2}|[^A-Za-z0-9%]")
_MIN_SUPPORT = 0.5
_MIN_VALUES = 10
_MAX_PIECES = 8
_MAX_LEVELS = 3


class Pieces(NamedTuple):
    """How the values of a key are cut."""

    delimiter: str
    n_pieces: int
    """Largest number of pieces; the last piece holds the rest of the value."""


class DeepMap(UrlMap):
    """Key-value map with some values in pieces.

    *cuts* says for each key how its values are cut. The key of a piece must come after the key of the whole value.
    """

    def __init__(self, cuts: Mapping[str, Pieces]) -> None:
        self.cuts = dict(cuts)
        self._plan = [(key, cut, tuple(f"{key}@{i}" for i in range(cut.n_pieces))) for key, cut in cuts.items()]

    def read(self, rest: str, scheme: str) -> KeyValues:
        """Map of *rest*, its values in pieces.

        >>> DeepMap({"path[0]": Pieces("-", 2)}).read("/7-a-title", "http")
        {'scheme': 'http', 'path.length': '1', 'path[0]@0': '7', 'path[0]@1': 'a-title'}
        """
        values = KEY_VALUES.read(rest, scheme)
        for key, (delimiter, n_pieces), keys in self._plan:
            value = values.get(key)
            if value is not None:
                del values[key]
                values.update(zip(keys, value.split(delimiter, n_pieces - 1), strict=False))
        return values

    def write(self, values: Mapping[str, str | None]) -> str:
        """Path and query of a map; a missing piece leaves no delimiter."""
        whole = dict(values)
        for key, (delimiter, _), keys in reversed(self._plan):
            pieces = [whole.pop(piece) or "" for piece in keys if piece in whole]
            if pieces and key not in whole:
                whole[key] = delimiter.join(pieces)
        return KEY_VALUES.write(whole)

    def is_whole(self, key: str) -> bool:
        """Return True if the values of *key* are not cut."""
        return key not in self.cuts

    def needed_by(self, rules: Iterable[Rule]) -> DeepMap:
        """The map without the cuts that no rule names. The rules give the same results, and reading is faster."""
        spoken = {key for rule in rules for key in rule.spoken()}
        return DeepMap({key: cut for key, cut in self.cuts.items() if any(s.startswith(f"{key}@") for s in spoken)})

    def to_json(self) -> dict[str, Any]:
        """Key -> delimiter and number of pieces."""
        return {key: [cut.delimiter, cut.n_pieces] for key, cut in self.cuts.items()}

    @classmethod
    def from_json(cls, value: JsonValue) -> DeepMap:
        """Read the result of :meth:`to_json`; BadInputError if *value* is not one."""
        return cls({key: _pieces(entry) for key, entry in value.table().items()})


def _pieces(entry: JsonValue) -> Pieces:
    values = entry.values()
    if len(values) != 2 or not values[0].text() or not 2 <= values[1].count() <= _MAX_PIECES:
        entry.refuse(f"a delimiter and 2 to {_MAX_PIECES} pieces")
    return Pieces(values[0].text(), values[1].count())


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
