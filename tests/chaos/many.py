"""Many specs, one after another or in several processes; each process has one zygote for all its crawls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from .crawl import Crawls
from .shrink import shrunk
from .spec import Spec
from .verdict import Outcome, judge
from .zygote import Zygote

_crawls: Crawls | None = None


def outcome_of(spec: Spec) -> Outcome:
    """Crawl twice, and judge."""
    global _crawls
    if _crawls is None:
        _crawls = Crawls(Zygote())  # which ends with this process: it reads what nobody writes any more
    return judge(*_crawls.run(spec))


def outcomes_of(specs: Sequence[Spec], n_jobs: int) -> Iterator[Outcome]:
    """In the order of the specs."""
    if n_jobs == 1:
        yield from map(outcome_of, specs)
        return
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        try:
            yield from pool.map(outcome_of, specs)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def smallest(outcome: Outcome) -> Spec:
    """A smaller spec that breaks the law as well: by lost pages if that was it, else by trouble."""

    def is_broken(spec: Spec) -> bool:
        again = outcome_of(spec)
        return bool(again.lost if outcome.lost else again.trouble)

    return shrunk(outcome.spec, is_broken)
