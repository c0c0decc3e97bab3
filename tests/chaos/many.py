"""Runs many specs, one after another or in several processes; each process has one fork server for its crawls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from .crawl import Crawls
from .shrink import shrunk
from .spec import Spec, invent, written
from .verdict import Outcome, judge

_crawls: Crawls | None = None


def outcome_of(spec: Spec) -> Outcome:
    """Crawl twice, and judge."""
    global _crawls
    if _crawls is None:
        _crawls = Crawls()
    return judge(*_crawls.run(spec))


def outcomes_of(specs: Sequence[Spec], n_jobs: int) -> Iterator[Outcome]:
    """Yield the results in the order of the specs."""
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
    """Return a smaller spec that breaks the law in the same way: by lost pages, or else by trouble."""

    def is_broken(spec: Spec) -> bool:
        again = outcome_of(spec)
        return bool(again.lost if outcome.lost else again.trouble)

    return shrunk(outcome.spec, is_broken)


def told(outcome: Outcome) -> str:
    """Return the fault, and the commands that repeat it."""
    spec = outcome.spec
    what = outcome.trouble or f"{len(outcome.lost)} of {outcome.n_pages} pages lost ({'; '.join(outcome.causes())})"
    again = f"--seeds {spec.seed}" if spec == invent(spec.seed) else f'--spec "{written(spec)}"'
    lines = [f"seed {spec.seed}: {what}", f"  python -m tests.chaos {again} --shrink", f"  {written(spec)}"]
    return "\n".join([*lines, *(f"    {trace}" for trace in outcome.traces)])
