"""Choice of the seen set of a crawl."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dedup_crawler.errors import BadInputError
from dedup_crawler.live.seen.memory import MemorySeenSet
from dedup_crawler.live.seen.protocol import SeenSet

_REDIS_SCHEMES = ("redis", "rediss", "unix")


def open_seen(setting: str | None, job_dir: Path | None) -> SeenSet[Any]:
    """Return the seen set that *setting* names, not opened yet.

    BadInputError if *setting* is none of these. MissingExtraError if it is in Redis and the package ``redis`` is not
    installed.

    Parameters
    ----------
    setting
        ``memory``; a path, or ``sqlite:///PATH`` (with four slashes the path is absolute); ``redis://HOST:PORT/DB?name=NAME``.
        None: ``dedup.seen`` in *job_dir*, or memory without *job_dir*.
    job_dir
        Folder of a crawl that can be resumed.
    """
    if setting is None:
        return MemorySeenSet() if job_dir is None else _sqlite(job_dir / "dedup.seen")
    if setting == "memory":
        return MemorySeenSet()
    scheme, separator, rest = setting.partition("://")
    if not separator and ("/" in setting or "." in setting):  # so that a misspelt word does not count as a path
        return _sqlite(Path(setting))
    if scheme == "sqlite" and len(rest) > 1 and rest.startswith("/"):
        return _sqlite(Path(rest[1:]))
    if scheme in _REDIS_SCHEMES:
        from dedup_crawler.live.seen.redis import RedisSeenSet

        return RedisSeenSet(setting)
    raise BadInputError(
        f"{scheme + separator!r} is no place for seen forms: give 'memory', the path of a file (with a / or a dot), or "
        "redis://HOST:PORT/DB?name=NAME"
    )


def _sqlite(path: Path) -> SeenSet[str]:
    from dedup_crawler.live.seen.sqlite import SQLiteSeenSet  # other crawls need not load SQLAlchemy

    return SQLiteSeenSet(path)
