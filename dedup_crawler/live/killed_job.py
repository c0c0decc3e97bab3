"""What a killed process leaves in the JOBDIR of a crawl, and Scrapy cannot read.

Scrapy says how far its queue was read, and flushes what its dupefilter knows, at an orderly end alone. After a kill
the queue reads stale bytes in place of what is new: requests are lost without a word, and at worst the crawl neither
goes on nor ends, because a damaged entry is read again and again. The filter knows itself what was not answered.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger("dedup_crawler.live")

_NAMES = "requests.queue", "requests.seen"


def put_aside(folder: Path) -> None:
    """Rename the queue and the file of the dupefilter in the JOBDIR *folder*; to be called before Scrapy opens them."""
    for name in _NAMES:
        path, aside = folder / name, folder / f"{name}.killed"
        with contextlib.suppress(FileNotFoundError):
            path.lstat()
            shutil.rmtree(aside, ignore_errors=True)
            aside.unlink(missing_ok=True)
            try:
                path.rename(aside)
            except OSError as error:
                logger.warning("%s was left by a killed process and cannot be put aside: %s", path, error.strerror)
            else:
                logger.info("%s was left by a killed process and is put aside as %s.", path, aside.name)
