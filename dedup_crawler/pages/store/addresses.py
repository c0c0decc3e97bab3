"""Addresses of databases: paths and SQLAlchemy URLs, and what of them others may read."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote_plus

from sqlalchemy import URL, make_url
from sqlalchemy.exc import SQLAlchemyError

from dedup_crawler.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path


def engine_url(location: str | Path) -> URL:
    """Give the URL of a path (SQLite) or of an address; StoreError if it is none."""
    if isinstance(location, str) and "://" in location:
        url = _read_url(location)
        if url is None:
            raise StoreError(
                f"{shown_location(location)} is no address of a database: write one like "
                "postgresql://USER:PASSWORD@HOST:5432/NAME, with what is special in a password as %XX"
            )
        return url
    return URL.create("sqlite", database=str(location))


def shown_location(location: str | Path) -> str:
    """A database's address as others may read it: without its password, and without the values of its query.

    >>> shown_location("mysql://me:secret@host/crawl?ssl_key=k")
    'mysql://me:***@host/crawl?ssl_key=...'
    """
    if not isinstance(location, str) or "://" not in location:
        return str(location)
    url = _read_url(location)
    if url is None or "@" in f"{url.host}{url.database}":
        return f"{location.partition('://')[0]}://..."  # nobody knows which part of it is the password
    return url.set(query=dict.fromkeys(url.query, "...")).render_as_string(hide_password=True)


def without_secrets(text: str, location: str | Path) -> str:
    """*text*, such as what a driver says, without what :func:`shown_location` leaves out of *location*."""
    if not isinstance(location, str) or "://" not in location:
        return text
    text = text.replace(location, shown_location(location))
    url = _read_url(location)
    if url is None:
        return text
    # a password with an @ that was not written as %40 reaches into what follows
    secrets = {str(url.password or ""), *(part for part in (url.host, url.database) if part and "@" in part)}
    for value in url.query.values():
        secrets.update([value] if isinstance(value, str) else value)
    # as they are, as a URL writes them, as Python shows them
    written = secrets | set(map(quote_plus, secrets)) | {repr(secret)[1:-1] for secret in secrets}
    for secret in sorted(written - {""}, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _read_url(location: str) -> URL | None:
    try:
        return make_url(location)
    except (SQLAlchemyError, ValueError):
        return None
