"""Specification of one invented crawl: immutable, and printed as Python to paste.

A :class:`Spec` has families of pages, each with its own kind of duplicate URLs, its own links, its own faults, and its
own rule in the model; so a lost page names the ingredient that lost it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any

QUERY, SESSION, SLUG, DEFAULT, TRACKING = "query", "session", "slug", "default", "tracking"
PLAIN, ONE_FORM, COVERED, IN_PATH, IN_END = "plain", "one-form", "covered", "in-path", "in-end"
WAYS = (QUERY, SESSION, SLUG, DEFAULT, TRACKING)
"""Families whose pages have several URLs. In the others, ``plain`` pages have one URL; ``one-form`` pages too,
but the model gives them all one form; the model has a coverage rule for ``covered`` ones; ``in-path`` and ``in-end``
have a session at the start or the end of the path, new in each answer, and no rule about it."""
IN_PATHS = (IN_PATH, IN_END)

SIDE, LATE, APART, CHAIN, SIBLINGS = "side", "late", "apart", "chain", "siblings"
LINKS = (SIDE, LATE, APART, CHAIN, SIBLINGS)
"""Places of links to the URLs of a page: side by side on one page; the second ones two pages later; the second ones on
a page at the very end; on the page before it; the second ones on the page itself."""

STATUSES = ("404", "410", "500", "503")
EMPTY, RESET, SLOW = "empty", "reset", "slow"


@dataclass(frozen=True)
class Fault:
    """A faulty answer that some URLs of some pages give."""

    what: str
    """A status, ``empty`` (status 200), ``reset`` or ``slow``."""
    n_ways: int = 1
    """Number of first URLs of a page, in link order, with the fault; never all of them."""
    every: int = 1
    """Every *every*-th page has the fault."""
    n_asks: int = 0
    """Number of first requests of a URL with the fault; 0: always."""


@dataclass(frozen=True)
class Family:
    """Pages with the same kind of links and URLs."""

    kind: str
    n_pages: int
    n_ways: int = 1
    """Number of URLs of each page."""
    links: str = SIDE
    matters_at: int | None = None
    """Page number (from 0) from which the rule is wrong; None: never."""
    redirects: str = ""
    """Status that redirects all other URLs of a page to the first, or ``chain``: each to the previous one."""
    fault: Fault | None = None
    is_thin: bool = False
    """True if a page has too few words to compare it."""


@dataclass(frozen=True)
class Stop:
    """An early stop of the crawl."""

    n_asked: int
    """Number of requests of this run before the stop."""
    is_kill: bool
    """True for SIGKILL, False for SIGINT."""


@dataclass(frozen=True)
class Spec:
    """One crawl."""

    seed: int
    families: tuple[Family, ...]
    noise: tuple[str, ...] = ()
    """``clock``, ``counter`` and ``column`` on every page."""
    wall_from: int = 0
    """Number of different shown pages before a log-in form answers for all URLs; 0: never."""
    wall_for: int = 0
    """Number of answers with the log-in form."""
    stops: tuple[Stop, ...] = ()
    kept: str = "memory"
    """``memory``, ``job`` (JOBDIR), ``file`` (DEDUP_SEEN) or ``redis``."""
    exploration: float = 0.02
    concurrency: int = 4
    is_lifo: bool = False
    """Scrapy's default order: the latest link is followed first."""
    middlewares: str = "both"
    """``both`` or ``downloader``."""
    learn_after: int = 0
    """Number of pages after which the crawl learns a model; 0: it has one."""
    redis_restarts: int = 0

    def features(self) -> list[str]:
        """Return the ingredients, for a table."""
        found = [self.kept, self.middlewares, f"exploration {self.exploration:g}"]
        found += [f"noise: {noise}" for noise in self.noise]
        found += ["kill" if stop.is_kill else "stop" for stop in self.stops]
        found += ["wall"] * bool(self.wall_from) + ["learns by itself"] * bool(self.learn_after)
        found += ["Redis restarts"] * bool(self.redis_restarts)
        return list(dict.fromkeys(found))


def written(value: Any) -> str:
    """Return a spec (or a part of one) as Python, without default values."""
    if isinstance(value, tuple):
        return "(" + "".join(f"{written(each)}, " for each in value) + ")" if value else "()"
    if not isinstance(value, (Spec, Family, Fault, Stop)):
        return repr(value)
    said = [
        f"{field.name}={written(getattr(value, field.name))}"
        for field in fields(value)
        if getattr(value, field.name) != field.default
    ]
    return f"{type(value).__name__}({', '.join(said)})"


def read(text: str) -> Spec:
    """Read the output of :func:`written`; nothing in it is executed."""
    spec = _read(ast.parse(text.strip(), mode="eval").body)
    if not isinstance(spec, Spec):
        raise ValueError(f"{text!r} is no spec: give what a failing seed prints, Spec(seed=...)")
    return spec


def _read(node: ast.expr) -> Any:
    if isinstance(node, ast.Tuple):
        return tuple(map(_read, node.elts))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
        kind = {kind.__name__: kind for kind in (Spec, Family, Fault, Stop)}[node.func.id]
        return kind(**{str(keyword.arg): _read(keyword.value) for keyword in node.keywords})
    return ast.literal_eval(node)


def invent(seed: int) -> Spec:
    """Return the spec of a seed."""
    return _varied(_drawn(seed, Random(f"chaos {seed}")), Random(f"chaos again {seed}"))


def _drawn(seed: int, draw: Random) -> Spec:
    # half of the later seeds learn by themselves, as most people will use the filter; such a crawl takes longer
    if draw.random() < (0.06 if seed < 500 else 0.5):
        return _self_driving(seed, draw)
    families = [_family(draw) for _ in range(draw.choice((1, 1, 2, 2, 3)))]
    n_others = max(24, 60 - sum(family.n_pages for family in families))
    # needed to learn the frame of the site, without which nothing can be compared
    families.append(Family(PLAIN, n_others, links=draw.choice((SIDE, CHAIN))))
    is_walled = draw.random() < 0.1
    kept = draw.choices(("memory", "job", "file", "redis"), (6, 3, 2, 1))[0]
    middlewares = "both" if draw.random() < 0.85 else "downloader"
    n_stops = 0 if kept == "memory" else draw.choices((0, 1, 2, 3), (1, 3, 2, 1))[0]
    # alone, the downloader middleware does not know the links in a lost queue
    may_kill = middlewares == "both"
    n_stops = n_stops if may_kill or kept == "job" else 0
    return Spec(
        seed,
        tuple(families),
        noise=tuple(name for name in ("clock", "counter", "column") if draw.random() < 0.2),
        wall_from=draw.randint(30, 70) if is_walled else 0,
        wall_for=draw.randint(20, 80) if is_walled else 0,
        stops=tuple(Stop(draw.randint(5, 80), draw.random() < 0.5 and may_kill) for _ in range(n_stops)),
        kept=kept,
        exploration=draw.choice((0.02, 0.02, 0.02, 0.1, 0.5, 1.0)),
        concurrency=draw.choice((1, 4, 4, 8, 16)),
        is_lifo=draw.random() < 0.3,
        middlewares=middlewares,
        redis_restarts=draw.randint(0, 2) if kept == "redis" and n_stops == 0 else 0,
    )


def _varied(spec: Spec, draw: Random) -> Spec:
    """Draw later ingredients separately, so that they do not change the rest of a seed."""
    families = tuple(_varied_family(family, draw) for family in spec.families)
    if not spec.learn_after:
        return replace(spec, families=families)
    first = families[0]
    if first.kind == IN_PATH:
        first = replace(first, kind=draw.choice(IN_PATHS))
    else:
        first = replace(first, matters_at=draw.choice((None, None, 0, 60, 100)))
    n_stops = draw.randint(0, 2) if spec.kept == "job" else 0
    stops = tuple(Stop(draw.randint(40, 150), draw.random() < 0.5) for _ in range(n_stops))
    return replace(spec, families=(first, *families[1:]), stops=stops)


def _varied_family(family: Family, draw: Random) -> Family:
    if family.matters_at and draw.random() < 0.4:
        family = replace(family, matters_at=family.n_pages * 5 // 6)
    return replace(family, is_thin=True) if family.kind in WAYS and draw.random() < 0.1 else family


def _family(draw: Random) -> Family:
    kind = draw.choices((*WAYS, ONE_FORM, COVERED), (5, 3, 3, 2, 2, 2, 3))[0]
    n_pages = draw.randint(12, 60)
    if kind == ONE_FORM:
        return Family(kind, n_pages, links=draw.choice((SIDE, CHAIN)), matters_at=0)
    if kind == COVERED:
        matters_at = draw.choice((None, 0, n_pages // 3, n_pages // 2))
        return Family(kind, n_pages, 2, draw.choice((SIDE, LATE, SIBLINGS)), matters_at, draw.choice(("", "302")))
    n_ways = 2 if kind == DEFAULT else draw.choice((2, 2, 3, 4, 10))
    n_pages = min(n_pages, 240 // n_ways)
    matters_at = draw.choice((None, None, None, 0, n_pages // 3, n_pages // 2))
    redirects = draw.choice(("", "", "", "301", "302", "chain")) if matters_at is None else ""
    return Family(
        kind,
        n_pages,
        n_ways,
        draw.choice(LINKS),
        matters_at,
        redirects,
        _fault(draw, n_ways) if draw.random() < 0.5 else None,
    )


def _fault(draw: Random, n_ways: int) -> Fault:
    what = draw.choice((*STATUSES, EMPTY, EMPTY, RESET, SLOW))
    # the client repeats a request on a reused connection by itself, so two resets may count as one
    n_asks = draw.choice((0, 0, 1, 2 if what != RESET else 1))
    return Fault(what, draw.randint(1, n_ways - 1), draw.choice((1, 2, 5)), n_asks)


def _self_driving(seed: int, draw: Random) -> Spec:
    families = (
        Family(draw.choice((SESSION, IN_PATH, TRACKING)), 120, 3, LATE),
        Family(PLAIN, 40, links=SIDE),
    )
    return Spec(seed, families, kept=draw.choice(("memory", "job")), learn_after=150)
