"""Files that a killed process leaves in the JOBDIR of a crawl, and Scrapy cannot read.

Scrapy says how far its queue was read, and flushes what its dupefilter knows, at an orderly end alone. After a kill
the queue reads stale bytes in place of what is new: requests are lost without a word, and at worst the crawl neither
goes on nor ends, because a damaged entry is read again and again. The filter knows itself what was not answered.
"""

from __future__ import annotations

import contextlib
import logging
import re
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

logger = logging.getLogger("dedup_crawler.live")

_NAMES = "requests.queue", "requests.seen"
_RUNNING = "dedup.running"
_NAME = re.compile(rb"[0-9a-f]{1,32}")


class KilledJob:
    """A JOBDIR that says whether the process before this one came to its end.

    Parameters
    ----------
    folder
        The JOBDIR; made where there is none.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.killed: str | None = None
        """The name of the process that was killed; None if none was, or it had no name."""

    def begin(self, process: str) -> None:
        """Note that a process has begun; its name may be empty."""
        with self._trouble_said("cannot be written: after a kill, Scrapy's queue in it will not be put aside"):
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / _RUNNING).write_text(process, encoding="ascii")

    def end(self) -> None:
        """Note that it came to its end."""
        with self._trouble_said("cannot be written: the next process will take this one for killed"):
            (self._folder / _RUNNING).unlink(missing_ok=True)

    def put_aside(self) -> None:
        """Rename queue and file of the dupefilter if a process was killed; to be called before Scrapy opens them."""
        try:
            told = (self._folder / _RUNNING).read_bytes()
        except FileNotFoundError:
            return
        except OSError:
            told = b""
        self.killed = told.decode("ascii") if _NAME.fullmatch(told) else None
        for name in _NAMES:
            path, aside = self._folder / name, self._folder / f"{name}.killed"
            with contextlib.suppress(FileNotFoundError):
                path.lstat()
                shutil.rmtree(aside, ignore_errors=True)
                aside.unlink(missing_ok=True)
                with self._trouble_said(f"holds {name} of a killed process, which cannot be put aside"):
                    path.rename(aside)
                    logger.info("%s was left by a killed process and is put aside as %s.", path, aside.name)

    @contextlib.contextmanager
    def _trouble_said(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            logger.warning("%s %s: %s", self._folder, what, error.strerror)
