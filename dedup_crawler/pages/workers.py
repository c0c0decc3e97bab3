"""Worker processes for what may never come back: a page that hangs a parser, a server that never ends its answer."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, TimeoutError
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from pebble import ProcessExpired, ProcessPool

from dedup_crawler.errors import BadInputError

T = TypeVar("T")


class WorkerDiedError(Exception):
    """A call killed its worker process or took it too long."""


class Workers:
    """*n_workers* processes, started afresh (``spawn``), never forked: the parent may have threads; a context manager.

    A process that dies, or is ended after *timeout_s* seconds of one call, is replaced; no other call is lost.
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
        """Start a call of a function that can be imported by name."""
        with _interrupts_held_back():
            try:
                return self._pool.schedule(function, arguments, timeout=self._timeout_s)
            except RuntimeError:  # all processes died while they had nothing to do
                self._pool = self._started()
                return self._pool.schedule(function, arguments, timeout=self._timeout_s)

    def result_of(self, call: Future[T]) -> T:
        """Wait for a call, and return or raise what it does.

        WorkerDiedError if it has no outcome, BadInputError if no process can be started.
        """
        try:
            result = call.result()
        except (TimeoutError, ProcessExpired) as error:
            raise WorkerDiedError from error
        except BrokenProcessPool as error:
            if self._has_worked:
                raise WorkerDiedError from error
            raise BadInputError(
                "worker processes cannot be started: in a script that is run directly, put what it does under "
                "if __name__ == '__main__':, because each of them imports the script"
            ) from None
        self._has_worked = True
        return result

    def _started(self) -> ProcessPool:
        return ProcessPool(self._n_workers, context=multiprocessing.get_context("spawn"))


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Hold Ctrl-C back while workers are started: they inherit the mask, so it cannot hit them half imported."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
