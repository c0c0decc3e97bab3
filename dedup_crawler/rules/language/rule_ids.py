"""Short names of rules that last: a digest of what a rule says and of its host, not of what was counted of it.

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

_N_BYTES = 6  # of 5,000 rules, one pair in 20 million models has one identifier
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
    """Identifier of a rule that gives URLs another form."""
    (said,) = rules_to_json([rule])
    return identifier("rule", {part: value for part, value in said.items() if part not in _COUNTED})


@lru_cache(_MAX_CACHED)
def order_identifier(host: str) -> str:
    """Identifier of the sorting of queries, which changes URLs of *host* where no rule does."""
    return identifier("query-order", host)


@lru_cache(_MAX_CACHED)
def site_identifier(host: str, rule: SiteRule) -> str:
    """Identifier of a rule about a site, told of the links on *host*."""
    if isinstance(rule, HostAlias):
        return identifier("alias", rule.host, rule.target)
    if isinstance(rule, ReferrerRule):
        return identifier("referrer", host, rule.referrer, rule.shape)
    return identifier("coverage", host, rule.shape)


@lru_cache(_MAX_CACHED)
def translation_identifier(template: str, says: str) -> str:
    """Identifier of the translation of one template."""
    return identifier("translation", template, says)
