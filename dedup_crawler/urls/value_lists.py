"""Values that are lists (``tags=a,b``), read as a name that is repeated (two tags), and back without loss.

A value is a list if another URL of the site has the same elements in another order and is otherwise the same. That does
not mean that the order does not matter: the learner asks that as for any repeated name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

MARK = ";,"
"""End of the names that stand for elements of a list."""
MIN_ORDERS = 8
"""Smallest number of URLs that repeat the elements of another URL in another order."""
_DELIMITERS = (",", "+", "|", "%2C", "%20", "%7C")
_MAX_ELEMENTS = 20
_MAX_PARTS = 20  # longer queries teach nothing: a stranger may write thousands of parts
_MAX_NAMES = 100


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
        if n >= MIN_ORDERS and is_list((name, delimiter)):
            lists.setdefault(name, delimiter)
    return lists


def is_list(entry: tuple[object, object]) -> bool:
    """Return True if this may be a name and its delimiter."""
    name, delimiter = entry
    return isinstance(name, str) and name[-1:] not in ("", ";") and delimiter in _DELIMITERS


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
            read += [f"{name}{MARK}={element}" for element in elements]
        else:
            read.append(f"{name[:-1]}{MARK}{part[len(name) :]}" if name.endswith(MARK) else part)
    return read


def write_lists(parts: Sequence[str], lists: Mapping[str, str]) -> list[str]:
    """Undo :func:`read_lists`; elements of unknown lists are left alone."""
    written: list[tuple[str, list[str]]] = []
    elements: dict[str, list[str]] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        known = name.removesuffix(MARK)
        if name.endswith(f";{MARK}"):  # the name itself ends so
            written.append(("", [f"{name[: -len(MARK)]},{equals}{value}"]))
        elif known == name or known not in lists or not equals:
            written.append(("", [part]))
        else:
            if known not in elements:
                elements[known] = []
                written.append((known, elements[known]))
            elements[known].append(value)
    return [f"{name}={lists[name].join(values)}" if name else values[0] for name, values in written]
