"""Find the rules that may fire on a URL among the rules of one host, without trying all of them.

Each rule is filed under one key that it requires. If the rule requires literal values, it is filed under the key and
value that fewest rules ask for. Only the rules under the keys and values of a URL are tried. A substring rule is filed
under the token that fewest other rules have.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dedup_crawler.rules.language.rule import Literal, OneOf, Rule
from dedup_crawler.rules.language.substring_rule import END, START, SubstringRule, split_tokens
from dedup_crawler.urls.keyvalue import KeyValues

_Ranked = tuple[int, int, Rule]
"""Rank (the most specific rule first), number and rule."""
MAX_LENGTH = 4_096
"""Characters of the longest path and query to which substring rules are applied: more could take seconds."""


class RuleIndex:
    """The numbered rules of one host. Of two equally specific rules, the one with the smaller number is tried first."""

    def __init__(self, numbered: Iterable[tuple[int, Rule]]) -> None:
        ordered = sorted(numbered, key=lambda pair: (*(-n for n in pair[1].specificity()), pair[0]))
        self.need_query = all(any(key[:6] == "query[" for key in rule.required()) for _, rule in ordered)
        """True if no rule matches a URL without a query."""
        self._anywhere: list[_Ranked] = []
        self._waiting: dict[str, _FiledRules] = defaultdict(_FiledRules)
        n_asking = Counter((key, value) for _, rule in ordered for key, its in _literals(rule).items() for value in its)
        for rank, (number, rule) in enumerate(ordered):
            literals, required = _literals(rule), rule.required()
            if literals:
                key = min(literals, key=lambda key: (sum(n_asking[key, each] for each in literals[key]), key))
                for value in literals[key]:
                    self._waiting[key].at_value[value].append((rank, number, rule))
            elif required:
                key = max(required, key=lambda key: (key[:6] == "query[", key))  # query keys are the rarest
                self._waiting[key].at_any_value.append((rank, number, rule))
            else:
                self._anywhere.append((rank, number, rule))

    def fire(self, values: Mapping[str, str | None]) -> tuple[int, KeyValues] | None:
        """Number of the most specific rule that changes the map of a URL, and the changed map; None without one."""
        found = self._anywhere.copy()
        for key in self._waiting if len(self._waiting) < len(values) else values:
            if key in values and key in self._waiting:
                waiting = self._waiting[key]
                found += waiting.at_any_value
                found += waiting.at_value.get(values[key], ())
        if len(found) > 1:
            found.sort()
        for _, number, rule in found:
            if rule.matches(values):
                changed = rule.apply(values)
                if changed != values:
                    return number, changed
        return None


class _FiledRules:
    """Rules that are filed under one key."""

    def __init__(self) -> None:
        self.at_any_value: list[_Ranked] = []
        self.at_value: dict[str | None, list[_Ranked]] = defaultdict(list)


def _literals(rule: Rule) -> dict[str, frozenset[str | None]]:
    """Key -> the values that a rule requires, for keys with a literal or a set of values."""
    return {
        key: frozenset((matcher.value,)) if isinstance(matcher, Literal) else matcher.values
        for key, matcher in rule.context.items()
        if isinstance(matcher, (Literal, OneOf))
    }


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
            if token not in self._waiting:
                continue
            for each in self._waiting[token]:
                if best is not None and best[0] <= each.number:
                    break
                if (changed := _replaced(each, tokens, place)) is not None:
                    best = each.number, changed
        return best

    def matches(self, rest: str, asked: Mapping[int, int], max_asked: int) -> dict[int, str]:
        """Numbers of the rules that match *rest*, each with its result at the first match.

        *asked* holds how often each rule has matched before; rules with *max_asked* matches are left out.
        """
        tokens = split_tokens(f"{START}{rest}{END}")
        found: dict[int, str] = {}
        for place, token in enumerate(tokens):
            for each in self._waiting.get(token, ()):
                if each.number in found or asked.get(each.number, 0) >= max_asked:
                    continue
                if (changed := _replaced(each, tokens, place)) is not None:
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
