"""Identifiers of rules: a short digest of the host and the rule, without its origin and statistics.

The same rule has the same identifier in every process, after loading, and when it is learnt again.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any

from dedup_crawler.rules.language.rule_files import rules_to_json
from dedup_crawler.rules.language.site_rules import HostAlias, ReferrerRule, SiteRule
from dedup_crawler.rules.language.substring_rule import AnyRule

_N_BYTES = 6  # two of 5,000 rules have the same identifier in one model of 20 million
_COUNTED = ("origin", "statistics")
_MAX_CACHED = 10_000


def identifier(*said: Any) -> str:
    """Twelve hex digits for JSON values.

    >>> identifier("query-order", "forum.example")
    'af93aec16f30'
    """
    text = json.dumps(said, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode("ascii"), digest_size=_N_BYTES).hexdigest()


def rule_identifier(rule: AnyRule) -> str:
    """Identifier of a rule that changes URLs."""
    (said,) = rules_to_json([rule])
    return identifier("rule", {part: value for part, value in said.items() if part not in _COUNTED})


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
        return identifier("referrer", host, rule.referrer, rule.shape)
    return identifier("coverage", host, rule.shape)


@lru_cache(_MAX_CACHED)
def translation_identifier(template: str, says: str) -> str:
    """Identifier of the translation of one template."""
    return identifier("translation", template, says)
