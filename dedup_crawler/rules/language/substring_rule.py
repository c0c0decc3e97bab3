"""Substring rules, for changes that cut across the keys of a URL (``story?id=`` to ``story_``).

Z. Bar-Yossef, I. Keidar, U. Schonfeld, "Do not crawl in the DUST", WWW 2007: *alpha* -> old, *beta* -> new, ``^`` and
``$`` -> at_start, at_end. A rule replaces whole tokens of path and query. A token is a run of letters, digits and
escapes, or one other character. The new text is shorter than the old one, or as long and lexicographically smaller, so
repeated application always ends.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dedup_crawler.errors import BadInputError
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.language.statistics import NO_STATISTICS, MergeEvidence, RuleStatistics
from dedup_crawler.urls.normal import normal_form

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
