"""Finds the rule that fires on a URL among the rules of one host, without trying all of them.

Each rule is filed under one key that it requires. If the rule requires literal values, it is filed under the key and
value that fewest rules ask for. Only the rules under the keys and values of a URL are tried.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from dedup_crawler.rules.language.rule import Literal, OneOf, Rule
from dedup_crawler.urls.keyvalue import KeyValues

_Ranked = tuple[int, int, Rule]
"""Rank (the most specific rule first), number and rule."""


class RuleIndex:
    """The rules of one host.

    Parameters
    ----------
    numbered
        Numbers and rules. Of two equally specific rules, the one with the smaller number is tried first.
    """

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
