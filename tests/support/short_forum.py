"""The beginning of the recorded forum, for tests that do not need all of it."""

from __future__ import annotations

import gzip
import re
import zlib
from functools import partial
from pathlib import Path

import zstandard

_RECORD = b"WARC/1.0\r\n"
_ORIGIN = b"https://forum.example.org"
_LINK = re.compile(rb"""href=["'](/[^"']*)""")


def short_recording(recording: Path, n_answers: int) -> bytes:
    """Return the first answers of a recording; of their links out of it, one in ten is kept."""
    whole = zstandard.ZstdDecompressor().decompressobj().decompress(recording.read_bytes())
    start, *records = whole.split(_RECORD)
    kept = _RECORD.join([start, *records[: 2 * n_answers]])  # two records each: response and request
    return _LINK.sub(partial(_linked, _urls(kept)), kept)


def short_truth(truth: Path, recording: bytes) -> bytes:
    """Return the lines of a truth about a recording."""
    urls = _urls(recording)
    head, *lines = gzip.decompress(truth.read_bytes()).splitlines(keepends=True)
    return gzip.compress(head + b"".join(line for line in lines if line.split(b",")[1] in urls))


def _urls(recording: bytes) -> set[bytes]:
    return set(re.findall(rb"^WARC-Target-URI: (\S+)", recording, re.MULTILINE))


def _linked(urls: set[bytes], link: re.Match[bytes]) -> bytes:
    """Remove a link to a page outside *urls*, unless its checksum ends in 0."""
    leads_to = link[1].partition(b"#")[0]
    if _ORIGIN + leads_to in urls or zlib.crc32(leads_to) % 10 == 0:
        return link[0]
    return link[0].replace(b"href", b"name", 1)
