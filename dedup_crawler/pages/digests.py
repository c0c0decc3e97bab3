"""Digests of bodies as exports tell them, in one spelling: ``algorithm:hex``.

Archives write SHA-1 in base 32, crawlers MD5 in base 16, some name the algorithm and some do not. The digest of no
bytes at all says nothing: pages without a body are not one page.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re

_NAMED = re.compile(r"([A-Za-z][A-Za-z0-9\-]{1,15}):(\S+)", re.ASCII)
_PLAIN = re.compile("[!-~]+")
_HEX = re.compile(r"[0-9a-fA-F]+", re.ASCII)
_BASE_32 = re.compile(r"[A-Z2-7]{32}=*", re.ASCII)  # of the 20 bytes of SHA-1
_ALGORITHM_OF_LENGTH = {32: "md5", 40: "sha1", 64: "sha256", 128: "sha512"}
_MIN_LENGTH, _MAX_LENGTH = 8, 256
_OF_NOTHING = {
    f"{name}:{hashlib.new(name, usedforsecurity=False).hexdigest()}" for name in _ALGORITHM_OF_LENGTH.values()
}


def body_digest(text: str | None) -> str | None:
    """One spelling of a digest; None where *text* is none, or that of an empty body.

    >>> body_digest("7444FDC17B8D887955783A1E3462E0E9")
    'md5:7444fdc17b8d887955783a1e3462e0e9'
    >>> body_digest("ZMSA5TNJUKKRYAIM5PRUJLL24DV7QYOO")
    'sha1:cb240ecda9a2951c010cebe344ad7ae0ebf861ce'
    >>> body_digest("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"), body_digest("-")
    (None, None)
    """
    text = (text or "").strip()
    named = _NAMED.fullmatch(text)
    name, value = (named[1].lower().replace("-", ""), named[2]) if named else ("", text)
    if not _MIN_LENGTH <= len(value) <= _MAX_LENGTH or not _PLAIN.fullmatch(value):
        return None
    if _BASE_32.fullmatch(value) and name in ("", "sha1"):
        name, value = "sha1", _hex(value)
    elif _HEX.fullmatch(value):
        name, value = name or _ALGORITHM_OF_LENGTH.get(len(value), "unknown"), value.lower()
    found = f"{name or 'unknown'}:{value}"
    return None if found in _OF_NOTHING else found


def _hex(value: str) -> str:
    try:
        return base64.b32decode(value).hex()
    except binascii.Error:
        return value
