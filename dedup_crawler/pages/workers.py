"""Worker processes for calls that may never return: a page may hang a parser, a server may never end its answer."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, TimeoutError
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from pebble import ProcessExpired, ProcessPool

from dedup_crawler.errors import BadInputError

T = TypeVar("T")

_MAX_FOLDER = 50  # characters of the folder for temporary files: the address of the server in it has at most 107


class WorkerDiedError(Exception):
    """A call killed its worker process or took too long."""


class Workers:
    """A pool of *n_workers* processes; a context manager.

    A process that dies, or takes more than *timeout_s* seconds for one call, is replaced; other calls are not lost.
    The parent, which may have threads, is never forked. Where the system can, processes are forks of a server that has
    imported the *modules* of the calls; elsewhere each is spawned, and imports them itself.
    """

    def __init__(self, n_workers: int, timeout_s: float, modules: Sequence[str]) -> None:
        self._n_workers, self._timeout_s = n_workers, timeout_s
        has_server = "forkserver" in multiprocessing.get_all_start_methods()
        is_short = len(tempfile.gettempdir()) <= _MAX_FOLDER
        self._context = multiprocessing.get_context("forkserver" if has_server and is_short else "spawn")
        self._context.set_forkserver_preload([*modules])
        self._pool = self._started()
        self._has_worked = False

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *exception: object) -> None:
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()

    def call(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Start a call of a function, which must be importable by name."""
        with _interrupts_held_back():
            try:
                return self._pool.schedule(function, arguments, timeout=self._timeout_s)
            except RuntimeError:  # all idle processes died
                self._pool = self._started()
                return self._pool.schedule(function, arguments, timeout=self._timeout_s)

    def result_of(self, call: Future[T]) -> T:
        """Wait for a call, and return its result or raise its error.

        WorkerDiedError if it died or took too long, BadInputError if no process can be started.
        """
        try:
            result = call.result()
        except (TimeoutError, ProcessExpired) as error:
            raise WorkerDiedError from error
        except BrokenProcessPool as error:
            if self._has_worked:
                raise WorkerDiedError from error
            raise BadInputError(
                "worker processes cannot be started: put the code of your script under if __name__ == '__main__':, "
                "because each process imports the script"
            ) from None
        self._has_worked = True
        return result

    def _started(self) -> ProcessPool:
        return ProcessPool(self._n_workers, context=self._context)


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Block Ctrl-C while workers start: they inherit the signal mask, so Ctrl-C cannot hit them during imports."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # it unblocks Ctrl-C when it starts, which would be just before the first worker
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
