"""Detection of empty pages: an empty body, or HTML without a word and without a link.

Overloaded sites and broken caches send them with status 200. Such an answer is not the page of its URL.
"""

from __future__ import annotations

import re

from dedup_crawler.live.walls.freeze import without_scripts

MAX_BYTES = 4_096
"""A longer body counts as a page, if only for its scripts."""

_SHOWN = re.compile(rb">\s*[^<\s]")
_LEADS_ON = re.compile(rb"\b(?:href|src|action|data|content)\s*=", re.IGNORECASE)


def says_nothing(body: bytes, content_type: str) -> bool:
    """Return True if a body is empty, or short HTML without text and links."""
    if len(body) > MAX_BYTES:
        return False
    if not body.strip():
        return True
    if "html" not in content_type.lower() or b"<script" in body.lower():
        return False
    return not _SHOWN.search(b">" + without_scripts(body)) and not _LEADS_ON.search(body)
