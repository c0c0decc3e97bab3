"""A URL as a map of keys to values, as KDD'08, WSDM'10 and WWW'10 read it.

T. Lei, R. Cai, J.-M. Yang, Y. Ke, X. Fan, L. Zhang, "A pattern tree-based approach to learning URL normalization
rules", WWW 2010, section 3: split by the delimiters of RFC 3986; before ``?`` keys are positions, after it they are
the names before ``=``.

The papers leave some points open. Here ``host[0]`` is the top level domain, ``path[0]`` the first path part, and
``path.length`` the number of path parts. The extension and the trailing slash are keys of their own. The second ``f=``
of a query is ``query[f]#2``. The order of the query is not part of the map.

A crawl reads every link this way, so the names of keys are looked up instead of formatted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dedup_crawler.urls.normal import normal_form

_SPLIT = re.compile(r"(?:([^:/?#]+)://)?([^/?#]*)(.*)", re.DOTALL)
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,8}").fullmatch
_HOST_PART = re.compile(r"host\[(\d+)\]")
_PATH_KEYS = tuple(f"path[{i}]" for i in range(32))
_LENGTHS = tuple(map(str, range(32)))
_MAX_NAMES = 10_000  # query names whose keys are remembered
_query_keys: dict[str, str] = {}

KeyValues = dict[str, "str | None"]


def key_values(url: str) -> KeyValues:
    """Read the normal form of *url* as key -> value.

    A query key without ``=`` has the value None; ``k=`` has the empty string; a missing key is missing.

    >>> key_values("http://a.example/view/topic.php?t=4&f&t=5")  # doctest: +NORMALIZE_WHITESPACE
    {'scheme': 'http', 'host[1]': 'a', 'host[0]': 'example', 'path.length': '2', 'ext': '.php',
     'path[0]': 'view', 'path[1]': 'topic', 'query[t]': '4', 'query[f]': None, 'query[t]#2': '5'}
    """
    match = _SPLIT.fullmatch(normal_form(url))
    scheme, authority, rest = match.groups() if match else (None, "", "")
    found: KeyValues = {}
    if scheme is not None:
        found["scheme"] = scheme
    found.update(_authority_keys(authority))
    read_rest(rest, found)
    return found


def url_of(values: Mapping[str, str | None]) -> str:
    """Write a key-value map as a URL, its query sorted by key (repeated keys keep their order).

    ``url_of(key_values(url))`` is the normal form of *url*, except for the order of the query.

    >>> url_of(key_values("http://a.example/topic.php?t=4&f=1"))
    'http://a.example/topic.php?f=1&t=4'
    """
    scheme = values.get("scheme")
    parts = sorted(((int(m[1]), values[key] or "") for key in values if (m := _HOST_PART.fullmatch(key))), reverse=True)
    authority = (values.get("user") or "") + ".".join(part for _, part in parts)
    if (port := values.get("port")) is not None:
        authority += f":{port}"
    return f"{'' if scheme is None else scheme + '://'}{authority}{rest_of(values)}"


def read_rest(rest: str, into: KeyValues) -> None:
    """Read path and query (``/view/topic.php?t=4``, in normal form) into a map.

    >>> found = {}
    >>> read_rest("/topic.php?t=4", found)
    >>> found
    {'path.length': '1', 'ext': '.php', 'path[0]': 'topic', 'query[t]': '4'}
    """
    path, question, query = rest.partition("?")
    _read_path(path, into)
    if not question:
        return
    repeated: dict[str, int] = {}
    for part in query.split("&"):
        name, equals, value = part.partition("=")
        key = _query_keys.get(name) or _query_key(name)
        if key in into:
            repeated[key] = repeated.get(key, 1) + 1
            key = f"{key}#{repeated[key]}"
        into[key] = value if equals else None


def rest_of(values: Mapping[str, str | None]) -> str:
    """Write the path and query of a key-value map; the keys of host and scheme are ignored.

    >>> rest_of({"path.length": "1", "path[0]": "topic", "ext": ".php", "query[t]": "4", "query[f]": None})
    '/topic.php?f&t=4'
    """
    path = "/" if "root" not in values else ""
    length = int(values.get("path.length") or 0)
    if length:
        keys = _PATH_KEYS[:length] if length <= len(_PATH_KEYS) else [f"path[{i}]" for i in range(length)]
        path += "/".join([values.get(key) or "" for key in keys])
    path += (values.get("ext") or "") + (values.get("slash") or "")
    query = []
    for key, value in values.items():
        if key[:6] == "query[":
            if key[-1] == "]":
                query.append((key[6:-1], 1, value))
            else:
                bracketed, _, number = key.partition("#")
                query.append((bracketed[6:-1], int(number or 1), value))
    if not query:
        return path
    if len(query) > 1:
        query.sort(key=lambda entry: entry[:2])
    return f"{path}?{'&'.join([name if value is None else f'{name}={value}' for name, _, value in query])}"


def is_sorted(rest: str) -> bool:
    """Return True if the query in *rest* (path and query) is sorted as :func:`rest_of` sorts it.

    >>> is_sorted("/?a=2&a=1&b"), is_sorted("/?b&a=1")
    (True, False)
    """
    names = [part.partition("=")[0] for part in rest.partition("?")[2].split("&")]
    return names == sorted(names)


def is_other_query_order(url: str, form: str) -> bool:
    """Return True if *form*, which is sorted, has query names of *url* in another order than *url*.

    >>> is_other_query_order("http://a/?t=4&f=1", "http://a/?f=1&t=4")
    True
    >>> is_other_query_order("http://a/?t=4&f=1", "http://a/?t=4")
    False
    """
    query = form.partition("?")[2]
    if "&" not in query:  # one name has no order
        return False
    left = {part.partition("=")[0] for part in query.split("&")}
    names = [part.partition("=")[0] for part in url.partition("?")[2].split("&")]
    kept = [name for name in names if name in left]
    return kept != sorted(kept)


def _query_key(name: str) -> str:
    if len(_query_keys) >= _MAX_NAMES:
        _query_keys.clear()
    return _query_keys.setdefault(name, f"query[{name}]")


def _authority_keys(authority: str) -> KeyValues:
    keys: KeyValues = {}
    user, at, host = authority.rpartition("@")
    if at:
        keys["user"] = user + at
    name, colon, port = host.rpartition(":")
    if colon and port.isdigit():
        keys["port"] = port
    else:
        name = host
    labels = name.split(".")
    keys.update({f"host[{len(labels) - 1 - i}]": label for i, label in enumerate(labels)})
    return keys


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
    length = len(components)
    into["path.length"] = _LENGTHS[length] if length < len(_LENGTHS) else str(length)
    last = components[-1]
    dot = last.rfind(".")
    if dot > 0 and _EXTENSION(last, dot):
        into["ext"] = last[dot:]
        components[-1] = last[:dot]
    if length <= len(_PATH_KEYS):
        into.update(zip(_PATH_KEYS, components, strict=False))
    else:
        into.update({f"path[{i}]": component for i, component in enumerate(components)})
