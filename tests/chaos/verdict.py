"""Verdict on the two crawls of a spec: lost pages, excusable losses, and trouble.

A loss is excusable only if the site hid the difference until then: the rule had enough right explorations before two
URLs of a page on which it is wrong were answered; and then only as many losses as exploration promises. The number of
explorations is counted from the site's requests and from the crawl's evidence file, whichever is less.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .law import Crawled, in_the_end, left_unfetched, reachable, settled_in
from .site import Site, without_session
from .spec import Spec

VERIFIED = 3
"""Least number of right explorations before a rule's first wrong one that count as verification."""
MAX_TRACES = 5
_YOUNG_RATE, _YOUNG, _SUSPECTED_RATE, _TRIALS = 0.1, 10, 0.25, 4  # as docs/safety.md promises


@dataclass(frozen=True)
class Outcome:
    """Verdict on one spec."""

    spec: Spec
    n_pages: int
    """Number of pages that the crawl without the filter reached."""
    lost: tuple[str, ...]
    hidden: tuple[str, ...]
    """Pages with an excusable loss: the site hid the difference until the rule was verified."""
    trouble: str
    """A traceback, a wrong exit status, or lost pages of the crawl without the filter; else empty."""
    n_plain: int
    """Number of fetches of the crawl without the filter."""
    n_filtered: int
    n_dropped: int
    n_explored: int
    n_kills: int
    n_stops: int
    is_said: bool
    """True if the summary's upper bound is at least the number of lost pages."""
    cpu_s: float
    traces: tuple[str, ...] = ()
    """For the first lost pages, the answers of each of their URLs."""
    log: str = ""
    """Log of the crawl with the filter, if it broke the law."""

    @property
    def is_lawful(self) -> bool:
        """Return True if the filter broke no law."""
        return not self.lost and not self.trouble

    def causes(self) -> list[str]:
        """Return the kinds of families with lost pages."""
        return sorted({_cause(self.spec, page) for page in self.lost})


def judge(site: Site, plain: Crawled, filtered: Crawled) -> Outcome:
    """Apply the law."""
    spec = site.spec
    reached = filtered.reached
    settled = settled_in(filtered)
    shown = {path: in_the_end(site, path, settled) for path in sorted(left_unfetched(site, filtered, settled))}
    roots = {path: page for path, page in shown.items() if page is not None and page not in reached}
    may_hide = [path for path, page in roots.items() if _was_hidden(site, filtered, page)]
    hidden_paths = [path for path in may_hide if _is_within_promise(site, filtered, path, roots, may_hide)]
    lost = reachable(site, [path for path in roots if path not in hidden_paths], reached, settled)
    hidden = reachable(site, hidden_paths, reached | lost, settled)
    if not spec.wall_from:  # chance decides which requests meet a wall; everything else happens to both crawls
        lost = plain.reached - reached - hidden
    n_high = sum(_number(stats.get("dedup/lost/high")) for stats in filtered.stats)
    trouble = _trouble(site, plain, filtered)
    return Outcome(
        spec,
        len(plain.reached),
        tuple(sorted(lost)),
        tuple(sorted(hidden)),
        trouble,
        plain.n_fetched,
        filtered.n_fetched,
        filtered.count("dedup/request/dropped"),
        filtered.count("dedup/request/explored"),
        len(filtered.killed),
        len(filtered.statuses) - 1 - len(filtered.killed),
        n_high >= len(set(roots.values())),
        plain.cpu_s + filtered.cpu_s,
        tuple(_trace(site, filtered, page) for page in sorted(lost)[:MAX_TRACES]),
        filtered.log if lost or trouble else "",
    )


def promised_loss(exploration: float, n_explored: int, concurrency: int) -> int:
    """Return the most wrong drops by a rule with this many right tests before it is switched off.

    The rate gives the explored share; it rises at the first wrong one, and the fourth switches the rule off.
    """
    rate = max(exploration, _YOUNG_RATE * _YOUNG / (_YOUNG + n_explored))
    return math.ceil(1 / rate) + math.ceil((_TRIALS - 1) / max(rate, _SUSPECTED_RATE)) + concurrency


def _was_hidden(site: Site, filtered: Crawled, page: str) -> bool:
    number, first = _family_of(page)
    if number is None or first is None:
        return False
    matters_at = site.spec.families[number].matters_at
    return bool(matters_at) and first >= matters_at and _n_verified(site, filtered, number) >= VERIFIED


def _is_within_promise(site: Site, filtered: Crawled, path: str, roots: Mapping[str, str], paths: list[str]) -> bool:
    number = site.family_of[roots[path]]
    n_lost = sum(site.family_of[roots[other]] == number for other in paths)
    n_verified = _n_verified(site, filtered, number)
    return n_lost <= promised_loss(site.spec.exploration, n_verified, site.spec.concurrency)


def _n_verified(site: Site, filtered: Crawled, number: int) -> int:
    """Return the number of pages whose explorations were right before a wrong one could be seen."""
    matters_at = site.spec.families[number].matters_at or 0
    ways: dict[int, set[int]] = {}
    for asked in filtered.asked:
        family, page, way = site.way_of.get(without_session(asked.path), (-1, 0, 0))
        if family == number and asked.outcome in ("page", "redirect"):
            ways.setdefault(page, set()).add(way)
            if page >= matters_at and len(ways[page]) > 1:
                break
    n_agreed, _, _ = filtered.rules.get(number, (0, 0, False))
    return min(n_agreed, sum(page < matters_at and len(its) > 1 for page, its in ways.items()))


def _family_of(page: str) -> tuple[int | None, int | None]:
    """Return the place of a page's family, and its number there; None for lists."""
    number, _, rest = page.partition("/")
    first = rest.partition("/")[0]
    return (int(number), int(first)) if number.isdigit() and first.isdigit() else (None, None)


def _trace(site: Site, filtered: Crawled, page: str) -> str:
    """Return each URL of a page with its answers, and their time in requests since the start."""
    told = []
    for path in site.answers:
        if in_the_end(site, path, set()) == page:
            found = [
                f"{asked.outcome} at {n}{' of a run that was killed' * (asked.run in filtered.killed)}"
                for n, asked in enumerate(filtered.asked)
                if without_session(asked.path) == path
            ]
            told.append(f"{path}: {', '.join(found) or 'never asked'}")
    return f"{page}: {'; '.join(told)}"


def _cause(spec: Spec, page: str) -> str:
    number, _ = _family_of(page)
    if number is None:
        return "list"
    family = spec.families[number]
    return f"{family.kind}, {family.links}" + (", wrong" if family.matters_at is not None else "")


def _trouble(site: Site, plain: Crawled, filtered: Crawled) -> str:
    settled = settled_in(plain)
    if lost := reachable(site, left_unfetched(site, plain, settled), plain.reached, settled):
        return f"the crawl without the filter lost {len(lost)} pages"
    if "Traceback" in filtered.log:
        return "traceback: " + filtered.log[filtered.log.index("Traceback") :].splitlines()[-1][:200]
    if unwanted := [status for status in filtered.statuses if status not in (0, -9)]:
        return f"exit status {unwanted[0]}"
    return ""


def _number(value: object) -> float:
    """Return the number in a stat; infinity for anything else."""
    return float(value) if isinstance(value, (int, float)) else math.inf if value is not None else 0.0
