"""Values that are lists, read as names that come more than once, and back without loss: ``tags=a,b`` says two tags.

Which values of a site are lists is learnt from its URLs: where the same elements stand in another order in another URL
that is otherwise the same. Whether the order matters is not said by that; it is asked as for any repeated name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

MARK = ";,"
"""End of the names of lists; with it they are sorted as the names that they stand for."""
MIN_ORDERS = 8
"""URLs, at least, that have the elements of another one in another order."""
_DELIMITERS = (",", "+", "|", "%2C", "%20", "%7C")
_MAX_ELEMENTS = 20
_MAX_PARTS = 20  # of a query that is learnt from: a stranger may write thousands
_MAX_NAMES = 100


def learn_lists(queries: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Name -> delimiter of its lists, of a path and query each.

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
        if n >= MIN_ORDERS and is_list((name, delimiter)):
            lists.setdefault(name, delimiter)
    return lists


def is_list(entry: tuple[object, object]) -> bool:
    """Return True if this may be a name and its delimiter."""
    name, delimiter = entry
    return isinstance(name, str) and name[-1:] not in ("", ";") and delimiter in _DELIMITERS


def read_lists(parts: Sequence[str], lists: Mapping[str, str]) -> list[str]:
    """The parts of a query with their lists as names that come more than once.

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
            read += [f"{name}{MARK}={element}" for element in elements]
        else:
            read.append(f"{name[:-1]}{MARK}{part[len(name) :]}" if name.endswith(MARK) else part)
    return read


def write_lists(parts: Sequence[str], lists: Mapping[str, str]) -> list[str] | None:
    """The parts of which these are read; None if there are none."""
    written: list[tuple[str, list[str]]] = []
    elements: dict[str, list[str]] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not name.endswith(MARK):
            written.append(("", [part]))
        elif name.endswith(f";{MARK}"):  # the name itself ends so
            written.append(("", [f"{name[: -len(MARK)]},{equals}{value}"]))
        else:
            name = name.removesuffix(MARK)
            if name not in lists or not equals:
                return None
            if name not in elements:
                elements[name] = []
                written.append((name, elements[name]))
            elements[name].append(value)
    return [f"{name}={lists[name].join(values)}" if name else values[0] for name, values in written]
