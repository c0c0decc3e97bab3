"""Identifiers of rules, and of the values that candidates remove.

The identifier of a rule is a short digest of its host and its JSON, without origin and statistics. The same rule has
the same identifier in every process, after loading, and when it is learnt again.

*Candidates* are rules about any value that were learnt from few values, and that a live crawl tests value by value.
Their identifiers end with ``?``. So a candidate that was found wrong does not speak against the same rule when that is
believed later, of more values. Each value that a candidate removes is named beside it, as a rule of its own:
``RULE?=VALUE``, with a hash of the value. So drops are counted, tested, kept and sent after all by value, with the
means that all rules have.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from zlib import crc32

from dedup_crawler.rules.language.operations import Edit
from dedup_crawler.rules.language.rule import AnyRule, Rule
from dedup_crawler.rules.language.rule_files import rule_to_json
from dedup_crawler.rules.language.site_rules import HostAlias, ReferrerRule, SiteRule
from dedup_crawler.urls.keyvalue import values_of

_N_BYTES = 6  # two of 5,000 rules have the same identifier in one model of 20 million
_MAX_CACHED = 10_000
N_VALUES = 64
"""Number of different names of values of one candidate; values with equal hashes share a name."""
_MARK = "="


def identifier(*said: Any) -> str:
    """Twelve hex digits for JSON values.

    >>> identifier("query-order", "forum.example")
    'af93aec16f30'
    """
    text = json.dumps(said, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode("ascii"), digest_size=_N_BYTES).hexdigest()


def rule_identifier(rule: AnyRule) -> str:
    """Identifier of a rule that changes URLs."""
    said = rule_to_json(rule).items()
    return identifier("rule", {part: value for part, value in said if part not in ("origin", "statistics")})


def effect_identifier(rule: AnyRule) -> str:
    """Identifier of what a rule does to which values, in any context of other keys."""
    said = rule_to_json(rule)
    changed = said.get("transformation", {}).keys()
    parts = {part: said[part] for part in ("host", "substring", "transformation") if part in said}
    return identifier("effect", {**parts, "values": {k: v for k, v in said.get("context", {}).items() if k in changed}})


@lru_cache(_MAX_CACHED)
def order_identifier(host: str) -> str:
    """Identifier of the sorting of queries on *host*, which changes URLs without a rule."""
    return identifier("query-order", host)


@lru_cache(_MAX_CACHED)
def site_identifier(host: str, rule: SiteRule) -> str:
    """Identifier of a rule about a site; *host* is the host of the links."""
    if isinstance(rule, HostAlias):
        return identifier("alias", rule.host, rule.target)
    if isinstance(rule, ReferrerRule):
        return identifier("referrer", host, rule.referrer, rule.shape, *filter(None, [rule.unless]))
    return identifier("coverage", host, rule.shape)


@lru_cache(_MAX_CACHED)
def translation_identifier(template: str, says: str) -> str:
    """Identifier of the translation of one template."""
    return identifier("translation", template, says)


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
