"""WARC files made byte by byte, so that a test can damage exactly one byte."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SITE = "https://forum.example.org"
PYTHON = (sys.executable, "-W", "error")


def record(kind: str, block: bytes, **headers: str) -> bytes:
    """Return one WARC record; header names with ``_`` for ``-``."""
    fields = {
        "WARC-Type": kind,
        "Content-Length": str(len(block)),
        **{k.replace("_", "-"): v for k, v in headers.items()},
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return b"WARC/1.0\r\n" + head.encode() + b"\r\n" + block + b"\r\n\r\n"


def response(
    url: str,
    body: bytes = b"<p>page</p>",
    status: str = "200 OK",
    headers: Mapping[str, str] | None = None,
    **warc: str,
) -> bytes:
    """Return a response record; *headers* are those of HTTP, *warc* those of the record."""
    fields = {"Content-Type": "text/html", **(headers or {})}
    head = f"HTTP/1.1 {status}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return record("response", head.encode() + b"\r\n" + body, WARC_Target_URI=url, **warc)


def request(url: str, referrer: str | None = None, method: str = "GET", **warc: str) -> bytes:
    """Return a request record."""
    head = f"{method} / HTTP/1.1\r\nHost: forum.example.org\r\n" + (f"Referer: {referrer}\r\n" if referrer else "")
    return record("request", head.encode() + b"\r\n", WARC_Target_URI=url, **warc)


def pages_of(n: int, body: bytes = b"<p>page</p>", start: int = 0) -> list[bytes]:
    """Return *n* response records of numbered topics."""
    return [response(f"{SITE}/topic/{i}", body + b"%d" % i) for i in range(start, start + n)]
