"""The rules of one host as a trie: a look-up per key that they speak of, however many rules there are.

Rules are told apart by the literal values of their contexts, most selective key first. Nodes are built only where URLs
come along, and thrown away where there are too many of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from dedup_crawler.rules.rule import ANY, Literal, OneOf, Rule

_MAX_NODES = 50_000  # of one host's trie, about 20 MB; then it is built anew

Numbered = tuple[int, Rule]


class Trie:
    """Finds the rule of one host that fires."""

    def __init__(self, numbered: Iterable[Numbered]) -> None:
        self._rules = sorted(numbered, key=lambda pair: (*(-n for n in pair[1].specificity()), pair[0]))
        self.rules = [rule for _, rule in self._rules]
        """The most specific first."""
        self._named = frozenset().union(*(rule.required() | rule.absent for rule in self.rules))
        self._required = [rule.required() for rule in self.rules]
        self._shapes: dict[tuple[str, ...], Node] = {}
        self.n_nodes = 0
        """Since it was begun anew."""

    def fire(self, values: Mapping[str, str | None]) -> tuple[int, dict[str, str | None]] | None:
        """Number of the first rule that changes the map, and the changed map."""
        node = self.first_node(values)
        while node.key is not None:
            node = self.child(node, values[node.key])
        for number, rule, has_classes in node.rules:
            if has_classes and not rule.matches(values):
                continue
            changed = rule.apply(values)
            if changed != values:
                return number, changed
        return None

    def first_node(self, keys: Iterable[str]) -> Node:
        """Where URLs with these keys start."""
        named = self._named
        shape = tuple([key for key in keys if key in named])
        node = self._shapes.get(shape)
        if node is None:
            node = self._shapes[shape] = self._node_of(shape)
        return node

    def child(self, node: Node, value: str | None) -> Node:
        """Where a URL goes on that has *value* for the node's key."""
        if value not in node.by_value:
            value = _OTHER
        following = node.children.get(value)
        if following is None:
            following = node.children[value] = self._node(node.rules_with(value))
        return following

    def _node_of(self, shape: tuple[str, ...]) -> Node:
        keys = set(shape)
        fitting = [
            (pair, _literals(pair[1]))
            for pair, required in zip(self._rules, self._required, strict=True)
            if required <= keys and pair[1].absent.isdisjoint(keys)
        ]
        return self._node(fitting)

    def _node(self, rules: list[_Tested]) -> Node:
        self.n_nodes += 1
        if self.n_nodes > _MAX_NODES:
            self._shapes.clear()
            self.n_nodes = 0
        return Node(rules)


_OTHER = "\0other"  # no value of a URL in normal form
_Tests = Mapping[str, "frozenset[str | None]"]
_Tested = tuple[Numbered, _Tests]
"""A rule and those of its literal tests that were not made yet."""


class Node:
    """Rules that may still match, told apart by the values of one key; no key where nothing is left to tell apart."""

    __slots__ = ("_rest", "by_value", "children", "key", "rules")

    def __init__(self, tested: list[_Tested]) -> None:
        counts: dict[str, int] = defaultdict(int)
        for _, tests in tested:
            for key in tests:
                counts[key] += 1
        self.key = max(counts, key=lambda key: (counts[key], key)) if counts else None
        self.children: dict[str | None, Node] = {}
        self.by_value: dict[str | None, list[tuple[int, _Tested]]] = defaultdict(list)
        self._rest: list[tuple[int, _Tested]] = []
        self.rules = [] if counts else [(number, rule, _has_classes(rule)) for (number, rule), _ in tested]
        for place, (pair, tests) in enumerate(tested if self.key is not None else ()):
            allowed = tests.get(self.key) if self.key is not None else None
            if allowed is None:
                self._rest.append((place, (pair, tests)))
                continue
            left = (place, (pair, {key: values for key, values in tests.items() if key != self.key}))
            for value in allowed:
                self.by_value[value].append(left)

    def rules_with(self, value: str | None) -> list[_Tested]:
        """Rules that a URL with this value may still match, the most specific first."""
        placed = [*self._rest, *self.by_value.get(value, ())]
        return [tested for _, tested in sorted(placed, key=lambda pair: pair[0])]


def _literals(rule: Rule) -> _Tests:
    tests = {}
    for key, matcher in rule.context.items():
        if isinstance(matcher, Literal):
            tests[key] = frozenset((matcher.value,))
        elif isinstance(matcher, OneOf):
            tests[key] = matcher.values
    return tests


def _has_classes(rule: Rule) -> bool:
    return any(not isinstance(matcher, (Literal, OneOf)) and matcher != ANY for matcher in rule.context.values())
