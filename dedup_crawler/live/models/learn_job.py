"""``python -m dedup_crawler.live.models.learn_job MODEL_FOLDER``: learn beside a crawl, in its own process.

It can start before it is needed: the first line of stdin names the database, each further line makes it read the texts
of new pages, and at the end of stdin it learns.

The result is one line of JSON on stdout (:mod:`~dedup_crawler.live.models.learner`) and status 0, or one line
on stderr and status 1. The process runs at low priority, and ends when the process that started it has ended. Its
temporary files are removed however it ends, except after ``kill -9``.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import NoReturn

from dedup_crawler.errors import DedupError

_NICENESS = 5
_LOOK_S = 1.0
_GRACE_S = 30.0  # a step in C code may delay the end of Python by as much


def main(folder: Path) -> int:
    """Learn into a model folder, or a folder of model folders by host; return the exit status."""
    signal.signal(signal.SIGTERM, _end)
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    threading.Thread(target=_watch, args=[os.getppid()], daemon=True).start()
    gc.disable()  # it would search millions of lines and rows for cycles, again and again; this process ends soon
    try:
        from dedup_crawler.live.models.refit import read_texts, refit

        database = os.fsdecode(sys.stdin.buffer.readline().rstrip(b"\n"))
        for _ in sys.stdin.buffer:
            read_texts(database)
        print(json.dumps(asdict(refit(database, folder))))  # noqa: T201 - for the crawl
    except DedupError as error:
        return _fail(str(error))
    except MemoryError:
        return _fail("not enough memory to learn from so many pages.")
    except OSError as error:
        return _fail(f"{error.filename or folder}: {error.strerror or error}; existing models stay.")
    return 0


def _fail(message: str) -> int:
    sys.stderr.write(f"{' '.join(message.split())}\n")
    return 1


def _end(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + signal.SIGTERM)  # so that all with blocks clean up


def _watch(parent: int) -> None:
    """End this process when its parent has ended."""
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    with contextlib.suppress(AttributeError, OSError):
        if os.getpgrp() == os.getpid():
            os.killpg(os.getpgrp(), signal.SIGKILL)  # includes the processes that read pages
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
