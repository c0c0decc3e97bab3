"""Shrinks a spec that breaks the law: removes one thing at a time as long as the law stays broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from .spec import APART, IN_PATHS, PLAIN, SIDE, Family, Spec

MAX_TRIALS = 80


def shrunk(spec: Spec, is_broken: Callable[[Spec], bool]) -> Spec:
    """Return the smallest spec found in :data:`MAX_TRIALS` trials that still breaks the law."""
    n_trials = 0
    tried = {spec}
    goes_on = True
    while goes_on:
        goes_on = False
        for candidate in smaller(spec):
            if candidate in tried:
                continue
            tried.add(candidate)
            n_trials += 1
            if n_trials > MAX_TRIALS:
                return spec
            if is_broken(candidate):
                spec = candidate
                goes_on = True
                break
    return spec


def smaller(spec: Spec) -> Iterator[Spec]:
    """Yield specs with one thing less, the largest thing first."""
    families = spec.families
    if len(families) > 1:
        for place in range(len(families)):
            yield replace(spec, families=families[:place] + families[place + 1 :])
    for place in range(len(spec.stops)):
        yield replace(spec, stops=spec.stops[:place] + spec.stops[place + 1 :])
    if spec.wall_from:
        yield replace(spec, wall_from=0, wall_for=0)
    if spec.redis_restarts:
        yield replace(spec, redis_restarts=0)
    if spec.noise:
        yield replace(spec, noise=spec.noise[1:])
    if spec.kept != "memory":
        yield replace(spec, kept="memory", stops=(), redis_restarts=0)
    if spec.kept == "redis":
        yield replace(spec, kept="job", redis_restarts=0)
    for place, family in enumerate(families):
        for less in _smaller_family(family):
            yield replace(spec, families=(*families[:place], less, *families[place + 1 :]))
    if spec.is_lifo:
        yield replace(spec, is_lifo=False)
    if spec.middlewares != "both":
        yield replace(spec, middlewares="both")
    if spec.concurrency != 1:
        yield replace(spec, concurrency=1)


def _smaller_family(family: Family) -> Iterator[Family]:
    if family.fault is not None:
        yield replace(family, fault=None)
    if family.is_thin:
        yield replace(family, is_thin=False)
    if family.redirects:
        yield replace(family, redirects="")
    if family.n_pages > 4 and family.kind != PLAIN:
        least = 4 if not family.matters_at else family.matters_at + 2
        if family.n_pages // 2 >= least:
            yield replace(family, n_pages=family.n_pages // 2)
        elif family.n_pages > least:
            yield replace(family, n_pages=least)
    if (
        family.n_ways > 2
        and family.kind not in IN_PATHS
        and (family.fault is None or family.fault.n_ways < family.n_ways - 1)
    ):
        yield replace(family, n_ways=family.n_ways - 1)
    if family.fault is not None and family.fault.every > 1:
        yield replace(family, fault=replace(family.fault, every=1))
    if family.fault is not None and family.fault.n_asks:
        yield replace(family, fault=replace(family.fault, n_asks=0))
    if family.links not in (SIDE, APART):
        yield replace(family, links=APART)
    if family.links != SIDE:
        yield replace(family, links=SIDE)
