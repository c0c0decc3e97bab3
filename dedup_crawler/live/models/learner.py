"""Learning in the background of a crawl: it starts the jobs and handles their reports.

It uses no thread and no event loop: the caller calls :meth:`Learner.tick` a few times a second.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from dedup_crawler.errors import MissingExtraError

GROWTH = 1.15
"""Factor by which the number of pages grows from one fit to the next."""
MIN_GROWTH = 1.04
"""That factor in a crawl whose pages come slowly, or while requests are sent that waited for the end of the crawl."""
GROWTH_OF_TEXTS = 1.08
"""Factor by which the number of pages grows from one reading of texts to the next."""
_WAIT_S = 3.0  # time for a job to clean up at the end of the crawl
_SAID, _COMPLAINED = "stdout", "stderr"
_SHOWN_LINES = 5  # most log lines about refused models
_READ_BYTES = 2**20  # read from the end of a job's output
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def check_learning() -> None:
    """Raise MissingExtraError if the package that reading pages needs is missing, without importing it."""
    if importlib.util.find_spec("simhash") is None:
        raise MissingExtraError("Fingerprinting the text of pages", "simhash", "learn")


@dataclass(slots=True)
class RefitReport:
    """Outcome for the models of a crawl; a job prints it as one line of JSON."""

    learnt: list[str] = field(default_factory=list)
    """Folders with a new model."""
    refused: list[str] = field(default_factory=list)
    """One line for each old model that stays because the new one was refused."""


@dataclass(slots=True)
class _Job:
    process: subprocess.Popen[bytes]
    stdin: IO[bytes]
    """Each line makes it read texts; when it is closed, the job learns."""
    scratch: Path
    """Folder for its output and its temporary files."""
    n_pages: int = 0
    """Number of pages when it was told to learn; 0: not yet."""
    since: float = 0.0
    """Time when it was told to learn, of the monotonic clock."""

    def tell(self, line: bytes) -> None:
        """Write a line to the job; a broken pipe is ignored, because an ended job reports why."""
        with contextlib.suppress(BrokenPipeError):
            self.stdin.write(line)


class Learner:
    """Has a model learnt from the pages of a crawl, again whenever there are 15 % more pages.

    If pages come slowly, 4 % more are enough, after a pause as long as the last fit. So learning takes half the time of
    a core at most, unless the crawl is fast.

    The next job starts as soon as one has ended. It loads its libraries and reads the texts of new pages in advance,
    so that the fit is quick when its time comes: a late model saves fewer fetches.

    The crawl's *database* is a path or SQLAlchemy URL; for the *folder* see
    :func:`dedup_crawler.live.models.refit.refit`. The first fit comes after *learn_after* pages. *on_model* is called
    with *folder* when it has new models, *on_trouble* with a line for the user if learning failed or a new model was
    refused; existing models stay.
    """

    def __init__(
        self,
        database: str,
        folder: Path,
        learn_after: int,
        on_model: Callable[[Path], None],
        on_trouble: Callable[[str], None],
    ) -> None:
        self._database = database
        self._folder = folder
        self._next = self._soonest = learn_after
        self._rests_until = 0.0  # time of the monotonic clock
        self._on_model = on_model
        self._on_trouble = on_trouble
        self._n_texts = 0  # number of pages when a job was last started, or told to read texts
        self._job: _Job | None = None

    def tick(self, n_pages: int) -> None:
        """Handle the end of a job, start one, or give it its next task if due.

        *n_pages* is the number of pages fetched so far, those of earlier runs into the same database included.
        """
        job = self._job
        if job is not None and job.process.poll() is not None:
            self._job = None
            if job.n_pages:
                self._take(job)
            else:
                _clear(job)  # it was killed while waiting; a lasting error shows with the next job
        if self.is_due(n_pages):
            self._learn(n_pages)
        elif not self._is_fitting() and n_pages > GROWTH_OF_TEXTS * self._n_texts:
            self._n_texts = n_pages
            if self._job is not None:
                self._job.tell(b"\n")
            else:
                with contextlib.suppress(OSError):  # an error is reported when a job is needed
                    self._job = self._started()

    def hasten(self) -> None:
        """Learn again soon, unless there are hardly more pages: requests are sent that waited for a better model."""
        self._next = self._soonest

    def is_due(self, n_pages: int) -> bool:
        """Return True if the next :meth:`tick` tells a job to learn: all pages should be in the database."""
        has_rested = n_pages >= self._soonest and time.monotonic() >= self._rests_until
        return not self._is_fitting() and (n_pages >= self._next or has_rested)

    def is_behind(self, n_pages: int) -> bool:
        """Return True if a fit is under way, or due with *n_pages* pages."""
        return n_pages >= self._next or self._is_fitting()

    def _is_fitting(self) -> bool:
        return self._job is not None and self._job.n_pages > 0

    def close(self) -> None:
        """End a running job; existing models stay."""
        if self._job is None:
            return
        job, self._job = self._job, None
        job.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.process.wait(_WAIT_S)
        _clear(job)

    def _learn(self, n_pages: int) -> None:
        self._next, self._soonest = (math.ceil(growth * n_pages) for growth in (GROWTH, MIN_GROWTH))
        try:
            self._job = self._job or self._started()
        except OSError as error:
            self._on_trouble(f"Learning after {n_pages} pages cannot be started: {error}. {self._again()}")
            return
        self._job.n_pages, self._job.since = n_pages, time.monotonic()
        self._job.stdin.close()

    def _started(self) -> _Job:
        """Start a waiting job."""
        scratch = Path(tempfile.mkdtemp(prefix="dedup-learn-"))
        try:
            with (scratch / _SAID).open("wb") as said, (scratch / _COMPLAINED).open("wb") as complained:
                process = subprocess.Popen(  # noqa: S603 - our own module, with the folder of this crawl
                    [sys.executable, "-m", "dedup_crawler.live.models.learn_job", str(self._folder)],
                    stdin=subprocess.PIPE,
                    stdout=said,
                    stderr=complained,
                    env={**_ONE_THREAD, **os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))},
                    start_new_session=True,  # its own processes must end with it; Ctrl-C is for the crawl
                    bufsize=0,
                )
        except OSError:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        job = _Job(process, cast(IO[bytes], process.stdin), scratch)
        # not as an argument, which all users can read: the URL may hold a password
        job.tell(os.fsencode(self._database) + b"\n")
        return job

    def _take(self, job: _Job) -> None:
        """Handle the result of an ended job."""
        said, complained = _last_line(job.scratch / _SAID), _last_line(job.scratch / _COMPLAINED)
        status = job.process.returncode
        now = time.monotonic()
        self._rests_until = 2 * now - job.since
        _clear(job)
        try:
            report = RefitReport(**json.loads(said))
        except (ValueError, TypeError):  # no complete report
            reason = f"it was killed (signal {-status})" if status < 0 else complained or f"exit status {status}"
            self._on_trouble(f"Learning after {job.n_pages} pages failed: {reason.rstrip('.')}. {self._again()}")
            return
        for line in report.refused[:_SHOWN_LINES]:
            self._on_trouble(f"{line} {self._again()}")
        if report.learnt:
            self._on_model(self._folder)

    def _again(self) -> str:
        """Say when the next try is; not earlier, since the last one failed."""
        self._soonest = self._next
        return f"The next try is after {self._next} pages."


def _last_line(path: Path) -> str:
    """Return the last line that a job wrote, escaped for the log."""
    try:
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - _READ_BYTES, 0))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return ""  # the temporary files were removed
    last = next((line for line in reversed(lines) if line.strip()), "")
    return "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in last.strip())


def _clear(job: _Job) -> None:
    """End all processes of a job, and remove its files."""
    job.stdin.close()
    status = job.process.returncode
    if status is None or status < 0:  # it did not end its own processes
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(job.process.pid, signal.SIGKILL)  # the leader of its group
            else:
                job.process.kill()
        job.process.wait()
    shutil.rmtree(job.scratch, ignore_errors=True)
