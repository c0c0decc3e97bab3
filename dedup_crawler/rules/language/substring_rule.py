"""Substring rules, for changes that cut across the keys of a URL (``story?id=`` to ``story_``).

Z. Bar-Yossef, I. Keidar, U. Schonfeld, "Do not crawl in the DUST", WWW 2007: *alpha* -> old, *beta* -> new, ``^`` and
``$`` -> at_start, at_end. A rule replaces whole tokens of path and query. A token is a run of letters, digits and
escapes, or one other character. The new text is shorter than the old one, or as long and lexicographically smaller, so
repeated application always ends.

:class:`SubstringIndex` finds the rules that match a URL among thousands: each rule is filed under the token that fewest
other rules have.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from dedup_crawler.errors import BadInputError
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.language.statistics import NO_STATISTICS, MergeEvidence, RuleStatistics
from dedup_crawler.urls.normal import normal_form

MAX_LENGTH = 4_096
"""Characters of the longest path and query to which substring rules are applied: more could take seconds."""
START, END = "<", ">"
"""Marks before the first and behind the last token; no URL in normal form has these characters."""

split_tokens = re.compile(r"[A-Za-z0-9%]+|[^A-Za-z0-9%]").findall  # in normal form % occurs only in escapes
"""Split path and query (in normal form) into tokens: ``/story?id=7`` has six."""


@dataclass(frozen=True)
class SubstringRule:
    """A rule for the URLs of one host.

    BadInputError if *old* is empty, *old* or *new* is not in normal form, or *new* is not smaller than *old*.
    """

    host: str
    """Host with its port, lower-case."""
    old: str
    new: str
    at_start: bool = False
    """True if *old* must be at the start of the path."""
    at_end: bool = False
    """True if *old* must be at the end of the URL."""
    origin: str = ""
    """Name of the method that found the rule."""
    statistics: RuleStatistics = field(default=NO_STATISTICS, compare=False)

    def __post_init__(self) -> None:
        if not self.old:
            raise BadInputError("a substring rule needs a text to replace: 'old' is empty")
        for text in (self.old, self.new):
            if normal_form(f"http://a/{text}") != f"http://a/{text}":
                raise BadInputError(f"substring {text!r} is not in normal form, so no URL can contain it")
        if (len(self.new), self.new) >= (len(self.old), self.old):
            raise BadInputError(f"substring {self.new!r} is not smaller than {self.old!r}: such a rule may never end")

    def tokens(self) -> tuple[str, ...]:
        """Tokens that a URL must contain, with the marks of its start and end."""
        return (START,) * self.at_start + tuple(split_tokens(self.old)) + (END,) * self.at_end

    @property
    def evidence(self) -> MergeEvidence:
        """Merge groups of the rule in training."""
        return self.statistics.evidence

    def identity(self) -> tuple[object, ...]:
        """Hashable key: equal for two rules that do the same."""
        return self.host, self.old, self.new, self.at_start, self.at_end

    def __str__(self) -> str:
        """One line for a person."""
        where = " as a whole" * (self.at_start and self.at_end) or " at the start" * self.at_start
        where = where or " at the end" * self.at_end
        return f"{self.host}: replace {self.old!r}{where} by {self.new!r}"


AnyRule = Rule | SubstringRule


class _FiledRule(NamedTuple):
    """A rule that is filed under its rarest token."""

    number: int
    n_before: int
    """Number of tokens of the substring before the rarest one."""
    tokens: list[str]
    new: str


class SubstringIndex:
    """Finds the substring rules of one host."""

    def __init__(self, numbered: Iterable[tuple[int, SubstringRule]]) -> None:
        rules = [(number, rule.new, list(rule.tokens())) for number, rule in sorted(numbered, key=lambda pair: pair[0])]
        n_rules = Counter(token for _, _, tokens in rules for token in set(tokens))
        self._waiting: dict[str, list[_FiledRule]] = defaultdict(list)
        for number, new, tokens in rules:
            n_before = min(range(len(tokens)), key=lambda place: n_rules[tokens[place]])
            self._waiting[tokens[n_before]].append(_FiledRule(number, n_before, tokens, new))

    def fire(self, rest: str) -> tuple[int, str] | None:
        """The first rule (by number) that matches *rest* (path and query), and its result; None without one."""
        if len(rest) > MAX_LENGTH:
            return None
        tokens = split_tokens(f"{START}{rest}{END}")
        best: tuple[int, str] | None = None
        for place, token in enumerate(tokens):
            for each in self._waiting.get(token, ()):
                if best is not None and best[0] <= each.number:
                    break
                if (changed := _replaced(each, tokens, place)) is not None:
                    best = each.number, changed
        return best

    def matches(self, rest: str) -> dict[int, str]:
        """Numbers of the rules that match *rest*, each with its result at the first match."""
        tokens = split_tokens(f"{START}{rest}{END}")
        found: dict[int, str] = {}
        for place, token in enumerate(tokens):
            for each in self._waiting.get(token, ()):
                if each.number not in found and (changed := _replaced(each, tokens, place)) is not None:
                    found[each.number] = changed
        return found


def _replaced(rule: _FiledRule, tokens: list[str], place: int) -> str | None:
    """Apply a rule whose rarest token is at *place* of a marked URL; None if it does not match, or no path is left."""
    start = place - rule.n_before
    end = start + len(rule.tokens)
    if start < 0 or tokens[start:end] != rule.tokens:
        return None
    changed = f"{''.join(tokens[1:start])}{rule.new}{''.join(tokens[end:-1])}"
    return changed if changed[:1] == "/" else None
