"""Substring substitution: the second kind of rule, for what the keys of a URL do not say (``story?id=`` to ``story_``).

Z. Bar-Yossef, I. Keidar, U. Schonfeld, "Do not crawl in the DUST", WWW 2007: *alpha* -> old, *beta* -> new, ``^`` and
``$`` -> at_start, at_end. A rule speaks of what stands behind the host and only of whole tokens: a run of letters,
digits and escapes, or one other character. It only ever shrinks a URL (or leaves its length and makes it
lexicographically smaller), so that no rules can go on for ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dedup_crawler.errors import BadInputError
from dedup_crawler.rules.rule import Rule
from dedup_crawler.rules.statistics import NO_STATISTICS, RuleStatistics
from dedup_crawler.urls.normal import normal_form

START, END = "<", ">"
"""Tokens before the first and behind the last one; no URL in normal form holds these characters."""

MAX_LENGTH = 4_096
"""Characters of path and query up to which substring rules are applied: a longer one could be shrunk for seconds."""

FEW = 20
"""Rules that are looked for one by one sooner than a URL is cut into tokens."""

split_tokens = re.compile(r"[A-Za-z0-9%]+|[^A-Za-z0-9%]").findall  # in normal form % stands in escapes alone
"""Tokens of what stands behind the host, in normal form: ``/story?id=7`` has six."""


@dataclass(frozen=True)
class SubstringRule:
    """A rule for the URLs of one host.

    Raises
    ------
    BadInputError
        If *old* is empty or not in normal form, or *new* is not smaller than it.
    """

    host: str
    """With its port, lower-case."""
    old: str
    new: str
    at_start: bool = False
    """Only at the start of the path."""
    at_end: bool = False
    """Only at the end of the URL."""
    origin: str = ""
    """Who found it: a method's name."""
    statistics: RuleStatistics = field(default=NO_STATISTICS, compare=False)

    def __post_init__(self) -> None:
        if not self.old:
            raise BadInputError("a substring rule has to say what it replaces: 'old' is empty")
        for text in (self.old, self.new):
            if normal_form(f"http://a/{text}") != f"http://a/{text}":
                raise BadInputError(f"substring {text!r} is not in normal form, so that no URL can hold it")
        if (len(self.new), self.new) >= (len(self.old), self.old):
            raise BadInputError(f"substring {self.new!r} is not smaller than {self.old!r}: such a rule may never end")

    def tokens(self) -> tuple[str, ...]:
        """What a URL has to hold."""
        return (START,) * self.at_start + tuple(split_tokens(self.old)) + (END,) * self.at_end

    def identity(self) -> tuple[object, ...]:
        """What makes two rules the same, as a key of dictionaries."""
        return self.host, self.old, self.new, self.at_start, self.at_end

    def __str__(self) -> str:
        """One line for a person."""
        where = " as a whole" * (self.at_start and self.at_end) or " at the start" * self.at_start
        where = where or " at the end" * self.at_end
        return f"{self.host}: replace {self.old!r}{where} by {self.new!r}"


AnyRule = Rule | SubstringRule


class SubstringIndex:
    """Finds the substring rules of one host in a URL, however many rules.

    Of the tokens of each rule the one that URLs are likely to hold least often is looked for first; around it, rules
    are a trie over tokens.
    """

    def __init__(self, numbered: Iterable[tuple[int, SubstringRule]]) -> None:
        self._new: dict[int, str] = {}
        self._by_rare: dict[str, dict[int, _Node]] = {}
        """Token -> how many tokens before it a rule starts -> the rules that do so."""
        numbered = list(numbered)
        self.starts = tuple({rule.old for _, rule in numbered if rule.at_start})
        """What the rules replace at the start of the path ..."""
        self.others = tuple({rule.old for _, rule in numbered if not rule.at_start})
        """... and anywhere."""
        self.are_few = len(numbered) <= FEW
        are_prefixes = self.are_few and all(rule.at_start and not rule.at_end for _, rule in numbered)
        self._prefixes = [(number, rule.old, rule.new) for number, rule in numbered] if are_prefixes else None
        for number, rule in numbered:
            self._new[number] = rule.new
            tokens = rule.tokens()
            rare = max(tokens, key=_rarity)
            node = self._by_rare.setdefault(rare, {}).setdefault(tokens.index(rare), _Node())
            for token in tokens:
                node = node.setdefault(token, _Node())
            node.numbers = (*node.numbers, number)

    def fire(self, rest: str) -> tuple[int, str] | None:
        """The first rule (by number) that may be applied to *rest* (path and query), and what it gives."""
        if len(rest) > MAX_LENGTH:
            return None
        if self._prefixes is not None:
            return self._fire_prefix(rest)
        tokens = [START, *split_tokens(rest), END, _BEYOND]
        by_rare = self._by_rare
        if by_rare.keys().isdisjoint(tokens):
            return None
        best: tuple[int, str] | None = None
        for place in [place for place, token in enumerate(tokens) if token in by_rare]:
            for n_before, root in by_rare[tokens[place]].items():
                start = end = place - n_before
                node: _Node | None = root if start >= 0 else None
                while node is not None:
                    if node.numbers:
                        best = self._better(best, tokens, start, end, node.numbers)
                    node = node.get(tokens[end])
                    end += 1
        return best

    def _fire_prefix(self, rest: str) -> tuple[int, str] | None:
        """As :meth:`fire`, where few rules all speak of the start: such ask for no index."""
        for number, old, new in self._prefixes or ():
            if rest.startswith(old):
                following = rest[len(old) : len(old) + 1]
                if (new[:1] or following) == "/" and not (_is_word(old[-1]) and _is_word(following)):
                    return number, new + rest[len(old) :]
        return None

    def _better(
        self, best: tuple[int, str] | None, tokens: list[str], start: int, end: int, numbers: Iterable[int]
    ) -> tuple[int, str] | None:
        """The first of these rules that may be applied, if it comes before the *best* so far."""
        for number in numbers:
            if best is not None and best[0] <= number:
                break
            changed = self._replaced(tokens, start, end, number)
            if changed is not None:
                return number, changed
        return best

    def matches(self, rest: str, asked: Mapping[int, int], max_asked: int) -> dict[int, str]:
        """Every rule that may be applied to *rest*, with what it gives where it is applied first.

        Rules that were *asked* for *max_asked* times are left out.
        """
        tokens = [START, *split_tokens(rest), END, _BEYOND]
        found: dict[int, str] = {}
        for place in [place for place, token in enumerate(tokens) if token in self._by_rare]:
            for n_before, root in self._by_rare[tokens[place]].items():
                start = end = place - n_before
                node: _Node | None = root if start >= 0 else None
                while node is not None:
                    for number in node.numbers:
                        if number in found or asked.get(number, 0) >= max_asked:
                            continue
                        if (changed := self._replaced(tokens, start, end, number)) is not None:
                            found[number] = changed
                    node = node.get(tokens[end])
                    end += 1
        return found

    def _replaced(self, tokens: list[str], start: int, end: int, number: int) -> str | None:
        """The URL's rest with these tokens replaced; None where that would be no path."""
        changed = "".join((*tokens[1:start], self._new[number], *tokens[max(end, 1) : -2]))
        return changed if changed[:1] == "/" else None


def _rarity(token: str) -> tuple[int, int]:
    """Greater for what fewer URLs are likely to hold: words before marks, marks before what every URL has."""
    return (1, len(token)) if token[0].isalnum() or token[0] == "%" else (0, -_COMMON.find(token))


_COMMON = "?=&;.-_:,/" + START + END  # every URL has the last ones


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "%"


_BEYOND = ""  # no token: ends every way through the trie


class _Node(dict[str, "_Node"]):
    """Token -> what may follow it."""

    __slots__ = ("numbers",)

    def __init__(self) -> None:
        super().__init__()
        self.numbers: tuple[int, ...] = ()
        """Rules that end here, the first first."""
