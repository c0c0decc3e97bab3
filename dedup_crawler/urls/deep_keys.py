"""Learns deep keys: how values are cut into pieces at the delimiters that a site uses.

H. S. Koppula et al., "Learning URL patterns for webpage de-duplication", WSDM 2010. We could not get the paper. By
patents of the same group, a delimiter cuts the values of a key if enough of them contain it (delimiter support). We
decided: half of the values are enough. If half of the values have the same number of pieces, every piece gets a key;
otherwise the first piece and the rest do. Pieces are cut again, up to three levels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from dedup_crawler.urls.keyvalue import MAX_PIECES, KeyValues, Pieces

_DELIMITER = re.compile(r"%[0-9A-F]{2}|[^A-Za-z0-9%]")
_MIN_SUPPORT = 0.5
_MIN_VALUES = 10
_MAX_LEVELS = 3


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
            n_pieces = min(size, MAX_PIECES) if n_alike >= _MIN_SUPPORT * total else 2
            best = min(best or (0.0, 0, ""), (-n / total, n_pieces, delimiter))
    return Pieces(best[2], best[1]) if best is not None else None
