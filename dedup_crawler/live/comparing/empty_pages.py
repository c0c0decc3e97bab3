"""Good answers that say nothing: an empty body, or HTML without a word and without a link.

Overloaded sites and broken caches give them with status 200. Such an answer is no page, and stands for none.
"""

from __future__ import annotations

import re

from dedup_crawler.live.walls.freeze import without_scripts

MAX_BYTES = 4_096
"""A longer body says something, if only by its scripts."""

_SHOWN = re.compile(rb">\s*[^<\s]")
_LEADS_ON = re.compile(rb"\b(?:href|src|action|data|content)\s*=", re.IGNORECASE)


def says_nothing(body: bytes, content_type: str) -> bool:
    """Tell whether a body is empty, or short HTML that shows no text and leads nowhere."""
    if len(body) > MAX_BYTES:
        return False
    if not body.strip():
        return True
    if "html" not in content_type.lower() or b"<script" in body.lower():
        return False
    return not _SHOWN.search(b">" + without_scripts(body)) and not _LEADS_ON.search(body)
