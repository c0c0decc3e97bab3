"""What a model says in the one rule language, and what it leaves alone whatever its rules say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dedup_crawler.rules.host_aliases import HostAlias
from dedup_crawler.rules.rule import UrlMap
from dedup_crawler.rules.substring_rule import AnyRule


@dataclass(frozen=True)
class ModelRules:
    """The rules of a fitted model, with its guards."""

    rules: Sequence[AnyRule]
    """In the order of the engine."""
    maps: Mapping[str, UrlMap] = field(default_factory=dict)
    """Host -> how its URLs are read, where that is not the plain way."""
    query_keys: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Guard: host -> the only names in a query that its rules know; URLs with any other are left alone."""
    ordered_hosts: frozenset[str] = frozenset()
    """Guard: hosts where a URL is left alone if its query is not sorted."""
    watched: frozenset[int] = frozenset()
    """Guard: numbers of the rules that leave a URL alone if what they drop has come with other pages."""
    read_otherwise: frozenset[str] = frozenset()
    """Hosts whose paths may be read otherwise than they stand ..."""
    other_queries: frozenset[str] = frozenset()
    """... and whose queries are."""
    aliases: Sequence[HostAlias] = ()
    others: Mapping[str, str] = field(default_factory=dict)
    """Identifier -> sentence of what else the model knows, in no rule about URLs alone."""

    def without_guards(self) -> ModelRules:
        """The same as if nothing but the rules decided."""
        return ModelRules(
            self.rules,
            self.maps,
            read_otherwise=self.read_otherwise,
            other_queries=self.other_queries,
            aliases=self.aliases,
            others=self.others,
        )
