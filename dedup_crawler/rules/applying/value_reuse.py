"""The value-reuse guard: a slug belongs to one id, so a "slug" with many ids is an unknown function token.

A mapping that drops the slug of ``/questions/17/how-to-quit`` would also drop ``history`` from
``/questions/17/history``, which is another page. The guard remembers, for each dropped value, the kept arguments of its
URLs (its *companies*). With the third company the value counts as a function token. From then on, its URLs keep their
own form.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from dedup_crawler.urls.templates import Arguments

_MAX_COMPANIES = 2  # a value with more is a function token
_MAX_VALUES = 200_000  # values that are remembered, about 60 MB; the oldest are forgotten first
_USUAL = 0.10  # if a larger share of the training URLs reuses its value, reuse is normal in the slot (session ids)


class ValueReuseGuard:
    """Bounded memory of dropped values. The answer for a URL does not change while its value is remembered."""

    def __init__(self) -> None:
        self._companies: dict[tuple[str, int, str], list[int]] = {}

    def allows(self, template: str, slot: int, value: str, kept: Arguments) -> bool:
        """Return True if *value* in *slot* of *template* may be dropped from a URL with these *kept* arguments."""
        companies = self._companies.setdefault((template, slot, value), [])
        company = hash(kept)
        if company in companies:
            return True
        if len(companies) >= _MAX_COMPANIES:
            return False
        companies.append(company)
        if len(self._companies) > _MAX_VALUES:
            del self._companies[next(iter(self._companies))]
        return True


def guarded_slots(urls: Iterable[Arguments], dropped: Iterable[int]) -> tuple[int, ...]:
    """Find the *dropped* arguments (numbers from 1) whose values are rarely reused in *urls* of one template."""
    urls = list(urls)
    dropped = tuple(dropped)
    return tuple(slot for slot in dropped if not _is_reused(urls, slot, dropped))


def kept_arguments(arguments: Arguments, dropped: Iterable[int]) -> Arguments:
    """*arguments* without those with the numbers *dropped*."""
    gone = set(dropped)
    return tuple(argument for i, argument in enumerate(arguments, start=1) if i not in gone)


def _is_reused(urls: list[Arguments], slot: int, dropped: tuple[int, ...]) -> bool:
    companies: dict[str, set[Arguments]] = defaultdict(set)
    for arguments in urls:
        companies[arguments[slot - 1]].add(kept_arguments(arguments, dropped))
    n_reusing = sum(len(companies[arguments[slot - 1]]) > _MAX_COMPANIES for arguments in urls)
    return n_reusing > _USUAL * len(urls)
