"""The normal form of a URL: only the changes that mean the same to every server (RFC 3986, section 6.2.2).

Lower-case scheme and host, upper-case ``%xx``, unreserved characters decoded, illegal characters encoded, default port
and fragment dropped, an empty path written ``/``. Escapes of further characters are decoded where these separate
nothing: ``q=has%3Acheck`` is ``q=has:check``. Servers decode both (WHATWG URL standard, section 5.1), and Scrapy's own
filter takes both for one request. Changes that are only *often* safe (order of the query, ``www``, trailing slash,
index files) have to be learnt from the pages of the site.

This runs for every link of a crawl, so one regular expression recognises URLs that are already in normal form, as most
are.
"""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Iterable, Set
from urllib.parse import urljoin

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PLAIN_IN_PATH = _UNRESERVED.union("!$'()*,:@")
_PLAIN_IN_QUERY = _PLAIN_IN_PATH.union("/?[]")
_IN_PATH = r"A-Za-z0-9\-._~:/\[\]@!$&'()*+,;="
_LEGAL = rf"{_IN_PATH}?"
# %xx that stays: upper-case, and not the code of a character that is written plainly
_KEPT_IN_PATH = r"%(?!2[14789ACDE]|3[0-9A]|4[0-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])[0-9A-F]{2}"
_KEPT_IN_QUERY = r"%(?!2[14789ACDEF]|3[0-9AF]|4[0-9A-F]|5[0-9ABDF]|6[1-9A-F]|7[0-9AE])[0-9A-F]{2}"
# "unrolled": a run of legal characters, then escape and run, so that no input can make it backtrack
_IS_NORMAL = re.compile(
    rf"https?://[a-z0-9.\-]+(?::(?!80/|443/)[1-9][0-9]*)?/[{_IN_PATH}]*(?:{_KEPT_IN_PATH}[{_IN_PATH}]*)*"
    rf"(?:\?[{_LEGAL}]*(?:{_KEPT_IN_QUERY}[{_LEGAL}]*)*)?",
    re.ASCII,
).fullmatch
_PARTS = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/?#]*)([^#]*)", re.ASCII | re.DOTALL)
_ESCAPE_OR_ILLEGAL = re.compile(rf"%[0-9A-Fa-f]{{2}}|[^{_LEGAL}]", re.ASCII)
_HOST_AND_PORT = re.compile(r"(\[[^\]]*\]|[^:]*)(?::([0-9]*))?", re.ASCII)
_DEFAULT_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
_WHITE_SPACE = "".join(map(chr, range(0x21)))


def normal_form(url: str) -> str:
    """Write *url* in its normal form: ASCII, idempotent, never an exception.

    A string without ``scheme://`` only has its illegal characters encoded.

    >>> normal_form("HTTP://Forum.Example:80/%7euser/a b?q=%c3%a9#top")
    'http://forum.example/~user/a%20b?q=%C3%A9'
    """
    if _IS_NORMAL(url):
        return url
    url = url.strip(_WHITE_SPACE)
    parts = _PARTS.match(url)
    if parts is None:
        return _encode_rest(url.partition("#")[0])
    scheme, authority, rest = parts.group(1).lower(), parts.group(2), parts.group(3)
    if not rest.startswith("/"):
        rest = "/" + rest
    return f"{scheme}://{_normal_authority(scheme, authority)}{_encode_rest(rest)}"


def joined(page: str, link: str) -> str:
    """Absolute URL of a *link* on a *page*; empty for a broken one, such as an unclosed bracket in the host."""
    with contextlib.suppress(ValueError):
        return urljoin(page, link)
    return ""


def host_of(url: str) -> str:
    """Host and port of a URL in normal form, without user and password; empty where there is none.

    >>> host_of("http://127.0.0.1:8000/x")
    '127.0.0.1:8000'
    """
    start = url.find("://")
    if start < 0:
        return ""
    end = url.find("/", start + 3)
    authority = url[start + 3 :] if end < 0 else url[start + 3 : end]
    return authority.rpartition("@")[2]


def places_by_host(urls: Iterable[str]) -> dict[str, list[int]]:
    """Map each host to the places of its URLs (in normal form); URLs without a host are left out."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, url in enumerate(urls):
        places[host_of(url)].append(place)
    places.pop("", None)
    return places


def _normal_authority(scheme: str, authority: str) -> str:
    user, at, host = authority.rpartition("@")
    if (match := _HOST_AND_PORT.fullmatch(host)) is None:
        return f"{_encode(user, _UNRESERVED)}{at}{_normal_host(host)}"  # malformed: nothing is known about its port
    name, port = match[1], (match[2] or "").lstrip("0")
    if port == _DEFAULT_PORTS.get(scheme):
        port = ""
    return f"{_encode(user, _UNRESERVED)}{at}{_normal_host(name)}{':' if port else ''}{port}"


def _normal_host(name: str) -> str:
    if not name.isascii():
        # an impossible host still gets a form of its own, with its bytes escaped
        with contextlib.suppress(UnicodeError):
            name = name.encode("idna").decode("ascii")
    # encode first, because an escape may decode to a capital; then lower everything except the escapes
    return re.sub(r"%[0-9A-F]{2}|[A-Z]", lambda m: m[0] if m[0][0] == "%" else m[0].lower(), _encode(name, _UNRESERVED))


def _encode_rest(text: str) -> str:
    path, mark, query = text.partition("?")
    return f"{_encode(path, _PLAIN_IN_PATH)}{mark}{_encode(query, _PLAIN_IN_QUERY) if mark else ''}"


def _encode(text: str, plain: Set[str]) -> str:
    """Encode illegal characters, and decode the escapes of *plain* characters."""

    def spelled(match: re.Match[str]) -> str:
        found = match[0]
        if len(found) == 1:
            return "".join(f"%{byte:02X}" for byte in found.encode("utf-8", "surrogatepass"))
        character = chr(int(found[1:], 16))
        return character if character in plain else found.upper()

    return _ESCAPE_OR_ILLEGAL.sub(spelled, text)
