"""Reading of a crawl's URLs before any rule is applied: at the host that is theirs, in the grammar of its site."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from dedup_crawler.errors import BadInputError
from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.language.site_rules import HostAlias
from dedup_crawler.rules.language.statistics import read_evidence
from dedup_crawler.urls.normal import host_of
from dedup_crawler.urls.site_grammar import USUAL, SiteGrammar

Said = TypeVar("Said")

MAX_KNOWN = 10_000
"""URLs that are remembered as they are read: most links of a crawl lead where others have led, and are read thrice."""
MAX_URL = 300
"""Characters of such a URL."""


class HostAliases:
    """Writes URLs of hosts that are another one at that one."""

    def __init__(self, aliases: Iterable[HostAlias] = ()) -> None:
        self.of_host: Mapping[str, HostAlias] = {alias.host: alias for alias in aliases}

    def at_home(self, url: str) -> str:
        """The URL (in normal form) on the host for which its own host is an alias; itself where there is none."""
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
        """Read what :meth:`to_json` gave; BadInputError if it cannot have."""
        aliases = [
            HostAlias(each["host"].text(), each["is"].text(), read_evidence(each, "pages")) for each in value.values()
        ]
        targets = {alias.target for alias in aliases}
        if chained := sorted(targets & {alias.host for alias in aliases}):
            raise BadInputError(f"{value.place}: {chained[0]} is both an alias and the target of another alias.")
        return cls(aliases)


class Reading:
    """Reads URLs in normal form, and writes what rules make of them.

    Parameters
    ----------
    aliases
        Hosts that are another one.
    grammars
        Host -> its grammar, where that is not the usual one.
    """

    def __init__(self, aliases: HostAliases, grammars: Mapping[str, SiteGrammar]) -> None:
        self.aliases = aliases
        self.grammars = {host: grammar for host, grammar in grammars.items() if grammar}
        self.is_plain = not self.grammars and not aliases.of_host
        """True if every URL is read as it stands."""
        self._read: dict[str, str] = {}
        self._written: dict[str, str | None] = {}

    @classmethod
    def learn(cls, aliases: HostAliases, urls_of: Mapping[str, Iterable[str]]) -> Reading:
        """Learn the grammar of each host from its URLs."""
        return cls(aliases, {host: SiteGrammar.learn(urls) for host, urls in urls_of.items()})

    def at_home(self, url: str) -> str:
        """*url* at the host that its own is."""
        return url if self.is_plain else self.aliases.at_home(url)

    def alias_of(self, url: str) -> HostAlias | None:
        """The alias by which a URL is read at another host."""
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
        """The URL that is read as *form*; where there is none, *url* at home.

        ``/a/b;v=1`` without its last part, say: as ``/a`` it would read otherwise.
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
        """Read what :meth:`grammars_to_json` gave.

        Raises
        ------
        BadInputError
            If it cannot have.
        """
        return {host: SiteGrammar.from_json(said) for host, said in value.table().items()}

    def _grammar_of(self, url: str) -> SiteGrammar:
        return self.grammars.get(host_of(url), USUAL) if self.grammars else USUAL


def _remember(known: dict[str, Said], url: str, said: Said) -> None:
    if len(url) <= MAX_URL:
        if len(known) >= MAX_KNOWN:
            known.clear()
        known[url] = said
