"""Reads URLs before rules are applied: replaces host aliases, and applies the grammar of the site."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dedup_crawler.errors import BadInputError
from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.language.site_rules import HostAlias, remember
from dedup_crawler.rules.language.statistics import merge_evidence_of
from dedup_crawler.urls.normal import host_of, places_by_host
from dedup_crawler.urls.site_grammar import USUAL, SiteGrammar


class Reading:
    """Reads URLs in normal form, and writes the results of rules. Hosts without a grammar have the usual one."""

    def __init__(self, aliases: Iterable[HostAlias], grammars: Mapping[str, SiteGrammar]) -> None:
        self.aliases = {alias.host: alias for alias in aliases}
        self.grammars = {host: grammar for host, grammar in grammars.items() if grammar}
        self.is_plain = not self.grammars and not self.aliases
        """True if reading changes no URL."""
        self._read: dict[str, str] = {}
        self._written: dict[str, str | None] = {}

    @classmethod
    def learn(cls, aliases: Iterable[HostAlias], urls: Iterable[str]) -> Reading:
        """Learn the grammar of each host from its URLs."""
        aliases = list(aliases)
        home = list(map(cls(aliases, {}).at_home, urls))
        places_of = places_by_host(home)
        return cls(aliases, {host: SiteGrammar.learn([home[i] for i in its]) for host, its in places_of.items()})

    def at_home(self, url: str) -> str:
        """Replace the host of *url* if it is an alias."""
        alias = self.alias_of(url)
        if alias is None:
            return url
        scheme, _, behind = url.partition("://")
        return f"{scheme}://{alias.target}{behind[behind.find('/') :]}"

    def alias_of(self, url: str) -> HostAlias | None:
        """The alias that the host of *url* is; None for all other hosts."""
        return self.aliases.get(host_of(url)) if self.aliases else None

    def read(self, url: str) -> str:
        """Return the URL that rules are applied to."""
        if self.is_plain:
            return url
        read = self._read.get(url)
        if read is None:
            home = self.at_home(url)
            read = self._grammar_of(home).read(home)
            remember(self._read, url, read)
        return read

    def write(self, form: str, url: str) -> str:
        """The URL that reads as *form*. If there is none, *url* itself with its alias replaced.

        For example, a rule may drop the last part of ``/a/b;v=1``, and no URL has the parameter without that part.
        """
        if self.is_plain:
            return form
        if form in self._written:
            written = self._written[form]
        else:
            written = self._grammar_of(form).write(form)
            remember(self._written, form, written)
        return self.at_home(url) if written is None else written

    def aliases_to_json(self) -> list[dict[str, Any]]:
        """Return the aliases as JSON values."""
        return [
            {"host": alias.host, "is": alias.target, "pages": alias.evidence.n_groups, "wrong": alias.evidence.n_wrong}
            for _, alias in sorted(self.aliases.items())
        ]

    def grammars_to_json(self) -> dict[str, Any]:
        """Host -> grammar, as JSON values."""
        return {host: grammar.to_json() for host, grammar in sorted(self.grammars.items())}

    @classmethod
    def from_json(cls, aliases: JsonValue, grammars: JsonValue | None = None) -> Reading:
        """Read what was written; BadInputError if it is of another kind, or a host is an alias and a target."""
        read = [
            HostAlias(each["host"].text(), each["is"].text(), merge_evidence_of(each, "pages"))
            for each in aliases.values()
        ]
        if chained := sorted({alias.target for alias in read} & {alias.host for alias in read}):
            raise BadInputError(f"{aliases.place}: {chained[0]} is both an alias and the target of another alias.")
        said = grammars.table() if grammars is not None else {}
        return cls(read, {host: SiteGrammar.from_json(grammar) for host, grammar in said.items()})

    def _grammar_of(self, url: str) -> SiteGrammar:
        return self.grammars.get(host_of(url), USUAL) if self.grammars else USUAL
