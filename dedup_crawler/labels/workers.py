"""A function applied to many items in worker processes: in order, with few items in memory, not ended by one of them.

Workers are started afresh (``spawn``), never forked: the parent may have threads. They leave Ctrl-C to the parent,
which stops them on its way out. A worker that dies (killed for memory, crashed in C code, over its time limit) costs
the item it died of, not the run.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import itertools
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import IO, Generic, TypeVar

from dedup_crawler.errors import BadInputError

T = TypeVar("T")
Item = TypeVar("Item")
Result = TypeVar("Result")
Chunk = list[Item]

_CHUNKS_PER_WORKER = 3
"""In flight: one being worked on, one waiting for the worker, one waiting for its turn in the order."""


class WorkerPool(Generic[Item, Result]):
    """Maps *function* over chunks of items in *n_workers* processes; a context manager.

    Parameters
    ----------
    function
        Chunk of items -> as many results. Importable by name from a module, as are its arguments (they are pickled).
    lost
        Item -> result, for an item that killed its worker.
    n_workers
        Processes, >= 1.

    Raises
    ------
    BadInputError
        While results are taken: if no process can be started.
    """

    def __init__(
        self, function: Callable[[Chunk[Item]], list[Result]], lost: Callable[[Item], Result], n_workers: int
    ) -> None:
        self._function = function
        self._lost = lost
        self._n_workers = n_workers
        self._executor: ProcessPoolExecutor | None = None

    def __enter__(self) -> WorkerPool[Item, Result]:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stop()

    def map(self, chunks: Iterable[Chunk[Item]]) -> Iterator[Result]:
        """Yield the results in the order of the items; takes new chunks only as results are taken."""
        upcoming = iter(chunks)
        waiting: deque[tuple[Chunk[Item], Future[list[Result]]]] = deque()
        while True:
            for chunk in itertools.islice(upcoming, self._n_workers * _CHUNKS_PER_WORKER - len(waiting)):
                waiting.append((chunk, self._submit(chunk)))
            if not waiting:
                return
            try:
                results = waiting[0][1].result()
            except BrokenProcessPool:
                interrupted = [chunk for chunk, _ in waiting]
                waiting.clear()
                yield from self._one_by_one(itertools.chain.from_iterable(interrupted))
            else:
                waiting.popleft()
                yield from results

    def _one_by_one(self, items: Iterable[Item]) -> Iterator[Result]:
        """After a worker died, nobody knows of which item: give each item of the chunks in flight a task of its own."""
        self._stop()
        self._check_start()
        for item in items:
            yield self._alone(item)

    def _check_start(self) -> None:
        """Tell a worker that died of an item from workers that cannot even start: all items would be lost."""
        try:
            self._submit_to_worker(os.getpid).result()
        except BrokenProcessPool:
            self._stop()
            raise BadInputError(
                "worker processes cannot be started: in a script that is run directly, put what it does under "
                "if __name__ == '__main__':, because each of them imports the script"
            ) from None

    def _alone(self, item: Item) -> Result:
        try:
            return self._submit([item]).result()[0]
        except BrokenProcessPool:
            self._stop()
            return self._lost(item)

    def _submit(self, chunk: Chunk[Item]) -> Future[list[Result]]:
        return self._submit_to_worker(functools.partial(self._function, chunk))

    def _submit_to_worker(self, work: Callable[[], T]) -> Future[T]:
        with _interrupts_held_back():
            if self._executor is None:
                context = multiprocessing.get_context("spawn")
                self._executor = ProcessPoolExecutor(self._n_workers, context, _ignore_interrupts)
            try:
                return self._executor.submit(work)
            except BrokenProcessPool as error:
                refused: Future[T] = Future()
                refused.set_exception(error)
                return refused

    def _stop(self) -> None:
        if self._executor is not None:
            executor, self._executor = self._executor, None
            executor.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """End this process at once if the block takes longer: the only way out of a C function that does not return.

    For the function of a worker, which :class:`WorkerPool` then replaces.
    """
    # a thread of the interpreter's own, without Python code: it runs whatever the block does
    faulthandler.dump_traceback_later(seconds, exit=True, file=_nowhere())
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@functools.cache
def _nowhere() -> IO[str]:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - for as long as the worker lives


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Hold Ctrl-C back while processes are started: they inherit the mask, so it cannot hit them half imported."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
