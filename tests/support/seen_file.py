"""Seen sets in a file, opened, stopped, and changed behind their back."""

from __future__ import annotations

import sqlite3

import pytest

from dedup_crawler.errors import SeenError
from dedup_crawler.live.seen.protocol import Claim, at_once, form_digest
from dedup_crawler.live.seen.sqlite import SQLiteSeenSet


def opened(path, **options):
    """Start a run; return the set, and the requests that it returns."""
    seen = SQLiteSeenSet(path)
    return seen, at_once(seen.open(**options))


def stop(seen, *, is_clean=True):
    at_once(seen.close(is_clean=is_clean))


def standings(seen, *claims):
    return [holder.standing for holder in at_once(seen.claim(claims))]


def change(path, *statements):
    """Change a file behind its back; return the rows of the last statement."""
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            rows = connection.execute(statement).fetchall()
    connection.close()
    return rows


def crawled(path, n_pages=1):
    """Return the file of a finished crawl."""
    seen, _ = opened(path)
    digests = [form_digest(f"/{n}") for n in range(n_pages)]
    at_once(seen.claim([Claim(digest, 1, 0, "request") for digest in digests]))
    seen.processed(digests)
    stop(seen)
    return path


def fails(use, path):
    """Return the message for the user: one line."""
    with pytest.raises(SeenError) as caught:
        use(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)
