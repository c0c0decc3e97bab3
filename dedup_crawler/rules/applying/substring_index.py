"""Finds the substring rules that may be applied to a URL by its tokens, without asking all of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dedup_crawler.rules.language.substring_rule import END, START, SubstringRule, split_tokens

MAX_LENGTH = 4_096
"""Characters of path and query up to which substring rules are applied: a longer one could be shrunk for seconds."""


class _Waiting(NamedTuple):
    """A rule at the rarest of its tokens."""

    number: int
    n_before: int
    """Number of tokens of the substring before that one."""
    tokens: list[str]
    new: str


class SubstringIndex:
    """Finds the substring rules of one host in a URL; each rule waits at the token that fewest other rules have."""

    def __init__(self, numbered: Iterable[tuple[int, SubstringRule]]) -> None:
        rules = [(number, rule.new, list(rule.tokens())) for number, rule in sorted(numbered, key=lambda pair: pair[0])]
        n_rules = Counter(token for _, _, tokens in rules for token in set(tokens))
        self._waiting: dict[str, list[_Waiting]] = defaultdict(list)
        for number, new, tokens in rules:
            n_before = min(range(len(tokens)), key=lambda place: n_rules[tokens[place]])
            self._waiting[tokens[n_before]].append(_Waiting(number, n_before, tokens, new))

    def fire(self, rest: str) -> tuple[int, str] | None:
        """The first rule (by number) that may be applied to *rest* (path and query), and what it gives."""
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
        """Every rule that may be applied to *rest*, with what it gives where it is applied first.

        Rules that were *asked* for *max_asked* times are left out.
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


def _replaced(rule: _Waiting, tokens: list[str], place: int) -> str | None:
    """Apply a rule to a marked URL at one place of its token; None where it does not stand, or no path is left."""
    start = place - rule.n_before
    end = start + len(rule.tokens)
    if start < 0 or tokens[start:end] != rule.tokens:
        return None
    changed = f"{''.join(tokens[1:start])}{rule.new}{''.join(tokens[end:-1])}"
    return changed if changed[:1] == "/" else None
