"""Worker processes for calls that may never return: a page may hang a parser, a server may never end its answer."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, TimeoutError
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from pebble import ProcessExpired, ProcessPool

from dedup_crawler.errors import BadInputError

T = TypeVar("T")


class WorkerDiedError(Exception):
    """A call killed its worker process or took too long."""


class Workers:
    """A pool of *n_workers* processes; a context manager.

    A process that dies, or takes more than *timeout_s* seconds for one call, is replaced; other calls are not lost.
    Processes are started by ``spawn`` and never forked, because the parent may have threads.
    """

    def __init__(self, n_workers: int, timeout_s: float) -> None:
        self._n_workers, self._timeout_s = n_workers, timeout_s
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
        return ProcessPool(self._n_workers, context=multiprocessing.get_context("spawn"))


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
