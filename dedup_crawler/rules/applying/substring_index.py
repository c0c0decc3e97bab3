"""Finds the substring rules that match a URL by its tokens, without trying all of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dedup_crawler.rules.language.substring_rule import END, START, SubstringRule, split_tokens

MAX_LENGTH = 4_096
"""Characters of the longest path and query to which substring rules are applied: more could take seconds."""


class _FiledRule(NamedTuple):
    """A rule that is filed under its rarest token."""

    number: int
    n_before: int
    """Number of tokens of the substring before the rarest one."""
    tokens: list[str]
    new: str


class SubstringIndex:
    """Finds the substring rules of one host. Each rule is filed under the token that fewest other rules have."""

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
