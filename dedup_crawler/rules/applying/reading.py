"""Reads URLs before rules are applied: replaces host aliases, and applies the grammar of the site."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from dedup_crawler.errors import BadInputError
from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.language.site_rules import HostAlias
from dedup_crawler.rules.language.statistics import merge_evidence_of
from dedup_crawler.urls.normal import host_of
from dedup_crawler.urls.site_grammar import USUAL, SiteGrammar

Said = TypeVar("Said")

MAX_KNOWN = 10_000
"""Most URLs whose readings are remembered: links repeat, and a crawl reads each link three times."""
MAX_URL = 300
"""Characters of the longest URL that is remembered."""


class HostAliases:
    """Replaces hosts that are aliases by their targets."""

    def __init__(self, aliases: Iterable[HostAlias] = ()) -> None:
        self.of_host: Mapping[str, HostAlias] = {alias.host: alias for alias in aliases}

    def at_home(self, url: str) -> str:
        """Replace the host of a URL (in normal form) if it is an alias."""
        alias = self.of_host.get(host_of(url)) if self.of_host else None
        if alias is None:
            return url
        scheme, _, behind = url.partition("://")
        return f"{scheme}://{alias.target}{behind[behind.find('/') :]}"

    def to_json(self) -> list[dict[str, Any]]:
        """Return the aliases as JSON values."""
        return [
            {"host": alias.host, "is": alias.target, "pages": alias.evidence.n_groups, "wrong": alias.evidence.n_wrong}
            for _, alias in sorted(self.of_host.items())
        ]

    @classmethod
    def from_json(cls, value: JsonValue) -> HostAliases:
        """Read the result of :meth:`to_json`; BadInputError if *value* is not one."""
        aliases = [
            HostAlias(each["host"].text(), each["is"].text(), merge_evidence_of(each, "pages"))
            for each in value.values()
        ]
        targets = {alias.target for alias in aliases}
        if chained := sorted(targets & {alias.host for alias in aliases}):
            raise BadInputError(f"{value.place}: {chained[0]} is both an alias and the target of another alias.")
        return cls(aliases)


class Reading:
    """Reads URLs in normal form, and writes the results of rules.

    Parameters
    ----------
    aliases
        Host aliases.
    grammars
        Host -> its grammar; by default the usual one.
    """

    def __init__(self, aliases: HostAliases, grammars: Mapping[str, SiteGrammar]) -> None:
        self.aliases = aliases
        self.grammars = {host: grammar for host, grammar in grammars.items() if grammar}
        self.is_plain = not self.grammars and not aliases.of_host
        """True if reading changes no URL."""
        self._read: dict[str, str] = {}
        self._written: dict[str, str | None] = {}

    @classmethod
    def learn(cls, aliases: HostAliases, urls_of: Mapping[str, Iterable[str]]) -> Reading:
        """Learn the grammar of each host from its URLs."""
        return cls(aliases, {host: SiteGrammar.learn(urls) for host, urls in urls_of.items()})

    def at_home(self, url: str) -> str:
        """Replace the host of *url* if it is an alias."""
        return url if self.is_plain else self.aliases.at_home(url)

    def alias_of(self, url: str) -> HostAlias | None:
        """The alias that the host of *url* is; None for all other hosts."""
        return self.aliases.of_host.get(host_of(url)) if self.aliases.of_host else None

    def read(self, url: str) -> str:
        """Return the URL that rules are applied to."""
        if self.is_plain:
            return url
        read = self._read.get(url)
        if read is None:
            home = self.aliases.at_home(url)
            read = self._grammar_of(home).read(home)
            _remember(self._read, url, read)
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
            _remember(self._written, form, written)
        return self.aliases.at_home(url) if written is None else written

    def grammars_to_json(self) -> dict[str, Any]:
        """Host -> grammar, as JSON values."""
        return {host: grammar.to_json() for host, grammar in sorted(self.grammars.items())}

    @staticmethod
    def grammars_from_json(value: JsonValue) -> dict[str, SiteGrammar]:
        """Read the result of :meth:`grammars_to_json`; BadInputError if *value* is not one."""
        return {host: SiteGrammar.from_json(said) for host, said in value.table().items()}

    def _grammar_of(self, url: str) -> SiteGrammar:
        return self.grammars.get(host_of(url), USUAL) if self.grammars else USUAL


def _remember(known: dict[str, Said], url: str, said: Said) -> None:
    if len(url) <= MAX_URL:
        if len(known) >= MAX_KNOWN:
            known.clear()
        known[url] = said
