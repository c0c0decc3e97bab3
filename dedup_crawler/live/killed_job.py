"""Files that a killed process leaves in the JOBDIR of a crawl and that Scrapy cannot read.

Scrapy writes the position of its queue, and flushes its dupefilter, only at an orderly stop. After a kill the queue
reads stale bytes: requests are lost silently, and at worst the crawl hangs on a damaged entry. The filter itself knows
which requests were not answered.
"""

from __future__ import annotations

import contextlib
import logging
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

logger = logging.getLogger("dedup_crawler.live")

_NAMES = "requests.queue", "requests.seen"
_RUNNING = "dedup.running"
_NAME = re.compile(rb"[0-9a-f]{1,32}")


class KilledJob:
    """A JOBDIR, created if missing, with a mark that tells whether the previous process was killed.

    Make it before Scrapy opens the JOBDIR: it renames the queue and the dupefilter's file of a killed process.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.killed: str | None = None
        """Name of the killed process; None if no process was killed, or it had no name."""
        self._put_aside()

    def begin(self, process: str) -> None:
        """Note the start of a process; its name may be empty."""
        with self._trouble_said("cannot be written: after a kill, Scrapy's queue in it will not be renamed"):
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / _RUNNING).write_text(process, encoding="ascii")

    def end(self) -> None:
        """Note the orderly end of the process."""
        with self._trouble_said("cannot be written: the next process will treat this one as killed"):
            (self._folder / _RUNNING).unlink(missing_ok=True)

    def _put_aside(self) -> None:
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
                with self._trouble_said(f"holds {name} of a killed process, which cannot be renamed"):
                    path.rename(aside)
                    logger.info("%s was left by a killed process and is renamed to %s.", path, aside.name)

    @contextlib.contextmanager
    def _trouble_said(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            logger.warning("%s %s: %s", self._folder, what, error.strerror)
