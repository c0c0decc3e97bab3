"""Candidates: rules about any value that were learnt from few values, and that a live crawl tests value by value.

Their identifiers end with ``?``. So a candidate that was found wrong does not speak against the same rule when that is
believed later, of more values.

Each value that a candidate removes is named beside it, as a rule of its own: ``RULE?=VALUE``, with a hash of the value.
So drops are counted, tested, kept and sent after all by value, with the means that all rules have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from zlib import crc32

from dedup_crawler.rules.language.operations import Edit
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.language.substring_rule import AnyRule
from dedup_crawler.urls.keyvalue import values_of

N_VALUES = 64
"""Number of different names of values of one candidate; values with equal hashes share a name."""
_MARK = "="


def as_candidate(identifier: str) -> str:
    """Identifier of a rule while it is a candidate."""
    return f"{identifier}?"


def rule_of(identifier: str) -> str:
    """Identifier of the candidate, of the name of one of its values; any other identifier stays.

    >>> rule_of("0f3067d881e6?=2a"), rule_of("0f3067d881e6")
    ('0f3067d881e6?', '0f3067d881e6')
    """
    return identifier.partition(_MARK)[0]


def is_value(identifier: str) -> bool:
    """Return True for the name of a value of a candidate."""
    return _MARK in identifier


def removed_values(candidates: Mapping[str, AnyRule], fired: Iterable[str], url: str) -> Iterator[str]:
    """Names of the values that the *fired* candidates remove from *url*, or change; several keys count as one value."""
    for identifier in fired:
        rule = candidates.get(identifier)
        if isinstance(rule, Rule):
            removed = repr(_removed(rule, url)).encode("utf-8", "surrogatepass")
            yield f"{identifier}{_MARK}{crc32(removed) % N_VALUES:02x}"


def _removed(rule: Rule, url: str) -> list[str | None]:
    values = values_of(url)
    return [
        operation.parts(values.get(key))[1] if isinstance(operation, Edit) else values.get(key)
        for key, operation in rule.transformation.items()
    ]
