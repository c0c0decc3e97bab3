"""A URL as a map of keys to values, as KDD'08, WSDM'10 and WWW'10 read it.

T. Lei, R. Cai, J.-M. Yang, Y. Ke, X. Fan, L. Zhang, "A pattern tree-based approach to learning URL normalization
rules", WWW 2010, section 3: split by the delimiters of RFC 3986; before ``?`` keys are positions, after it they are
the names before ``=``. What the papers leave open is decided here: the host is counted from the right (``host[0]`` is
the top level domain), the path from the left and also by its length, the extension and the trailing slash are keys of
their own, the second ``f=`` of a query is ``query[f]#2``, and the order of the query is not part of the map.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dedup_crawler.urls.normal import normal_form

_SPLIT = re.compile(r"(?:([^:/?#]+)://)?([^/?#]*)([^?]*)(?:\?(.*))?", re.DOTALL)
_EXTENSION = re.compile(r"(?<=.)\.[A-Za-z0-9]{1,8}$")
_HOST_PART = re.compile(r"host\[(\d+)\]")
_QUERY_KEY = re.compile(r"query\[(.*)\](?:#(\d+))?", re.DOTALL)


def key_values(url: str) -> dict[str, str | None]:
    """Read the normal form of *url* as key -> value.

    A query key without ``=`` has the value None; ``k=`` has the empty string; a missing key is missing.

    >>> key_values("http://a.example/view/topic.php?t=4&f&t=5")  # doctest: +NORMALIZE_WHITESPACE
    {'scheme': 'http', 'host[1]': 'a', 'host[0]': 'example', 'path.length': '2', 'ext': '.php',
     'path[0]': 'view', 'path[1]': 'topic', 'query[t]': '4', 'query[f]': None, 'query[t]#2': '5'}
    """
    match = _SPLIT.fullmatch(normal_form(url))
    scheme, authority, path, query = match.groups() if match else (None, "", "", None)
    found: dict[str, str | None] = {}
    if scheme is not None:
        found["scheme"] = scheme
    found.update(_authority_keys(authority))
    found.update(_path_keys(path))
    seen: dict[str, int] = {}
    for part in query.split("&") if query is not None else ():
        name, equals, value = part.partition("=")
        seen[name] = seen.get(name, 0) + 1
        key = f"query[{name}]" if seen[name] == 1 else f"query[{name}]#{seen[name]}"
        found[key] = value if equals else None
    return found


def url_of(values: Mapping[str, str | None]) -> str:
    """Write a key-value map as a URL, its query sorted by key (repeated keys keep their order).

    ``url_of(key_values(url))`` is the normal form of *url* but for that order.

    >>> url_of(key_values("http://a.example/topic.php?t=4&f=1"))
    'http://a.example/topic.php?f=1&t=4'
    """
    scheme = values.get("scheme")
    parts = sorted(((int(m[1]), values[key] or "") for key in values if (m := _HOST_PART.fullmatch(key))), reverse=True)
    authority = (values.get("user") or "") + ".".join(part for _, part in parts)
    if (port := values.get("port")) is not None:
        authority += f":{port}"
    length = int(values.get("path.length") or 0)
    path = "/".join(values.get(f"path[{i}]") or "" for i in range(length)) + (values.get("ext") or "")
    rooted = "/" if "root" not in values else ""
    query = sorted((m[1], int(m[2] or 1), values[key]) for key in values if (m := _QUERY_KEY.fullmatch(key)))
    text = "&".join(name if value is None else f"{name}={value}" for name, _, value in query)
    return (
        f"{'' if scheme is None else scheme + '://'}{authority}{rooted}{path}{values.get('slash') or ''}"
        f"{'?' + text if query else ''}"
    )


def _authority_keys(authority: str) -> dict[str, str | None]:
    keys: dict[str, str | None] = {}
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


def _path_keys(path: str) -> dict[str, str | None]:
    keys: dict[str, str | None] = {}
    if path.startswith("/"):
        path = path[1:]
    else:
        keys["root"] = ""  # a string that is no absolute URL
    if path.endswith("/") and len(path) > 1:
        keys["slash"] = "/"
        path = path[:-1]
    components = path.split("/") if path else []
    keys["path.length"] = str(len(components))
    if components and (extension := _EXTENSION.search(components[-1])):
        keys["ext"] = extension[0]
        components[-1] = components[-1][: extension.start()]
    keys.update({f"path[{i}]": component for i, component in enumerate(components)})
    return keys
