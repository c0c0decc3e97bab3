"""Applying rules: one look-up per key that rules speak of, however many rules there are.

The rules of a host are a trie over the literal values of their contexts, most selective key first, built only where
URLs come along: a URL walks from the set of its keys down by its values to the few rules whose literals all hold.
Of these the most specific one that changes the URL fires; that is repeated with what it gave until nothing fires.
A URL that has not settled after ten passes keeps its own form; of a circle, the lexicographically smallest form is
taken. Both make the form of a form that form. Substring rules have an index of their own and are tried where no other
rule fires; as each of them makes the URL smaller, a hundred passes are allowed where there are any.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from dedup_crawler.rules.rule import ANY, Drop, KeyValueMap, Literal, OneOf, Operation, Rule, Set, Star, UrlMap
from dedup_crawler.rules.substring_rule import AnyRule, SubstringIndex, SubstringRule
from dedup_crawler.urls.keyvalue import is_sorted, with_sorted_query
from dedup_crawler.urls.normal import host_of, normal_form

_MAX_PASSES = 10
_MAX_SHRINKS = 100
_MAX_NODES = 50_000  # of one host's trie, about 20 MB; then it is built anew
_KEY_VALUES = KeyValueMap()
_PLAIN_KEY = re.compile(r"query\[[A-Za-z0-9\-._~]+\]").fullmatch
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9\-._~]*").fullmatch

_Numbered = tuple[int, Rule]


class RuleEngine:
    """Gives URLs the forms that rules say.

    Parameters
    ----------
    rules
        Of any hosts; where two are equally specific, the first is tried first.
    maps
        Host -> how its URLs are read; :class:`KeyValueMap` where nothing is said.
    """

    def __init__(self, rules: Iterable[AnyRule], maps: Mapping[str, UrlMap] | None = None) -> None:
        self.rules = list(rules)
        self.maps = dict(maps or {})
        of_host: dict[str, list[_Numbered]] = defaultdict(list)
        substrings: dict[str, list[tuple[int, SubstringRule]]] = defaultdict(list)
        for number, rule in enumerate(self.rules):
            if isinstance(rule, SubstringRule):
                substrings[rule.host].append((number, rule))
            else:
                of_host[rule.host].append((number, rule))
        self._plain = {
            number: tuple(f"{key}#2" for key in rule.transformation)
            for numbered in of_host.values()
            for number, rule in numbered
            if all(_is_plain(key, operation) for key, operation in rule.transformation.items())
            and all(map(self.maps.get(rule.host, _KEY_VALUES).is_whole, rule.transformation))
        }
        self._tries = {host: _Trie(numbered) for host, numbered in of_host.items()}
        self._substrings = {host: SubstringIndex(numbered) for host, numbered in substrings.items()}

    def form(self, url: str) -> str:
        """Form of a URL in normal form, on a host that has rules or not; never raises.

        Most URLs meet one rule or none: they are answered here, without writing down the way.
        """
        host = host_of(url)
        trie = self._tries.get(host)
        url_map = self.maps.get(host, _KEY_VALUES)
        scheme, mark, behind = url.partition("://")
        start = behind.find("/") if mark else -1
        substrings = self._substrings.get(host)
        rest = behind[start:]
        if substrings is not None and start >= 0:
            short = self._shrunk(rest, scheme, trie, substrings, url_map)
            return self.trace(url)[0] if short is None else f"{scheme}://{behind[:start]}{short}"
        if trie is None or start < 0:
            return _read(url, url_map, None)[0]
        values = url_map.read(rest, scheme)
        found = trie.fire(values)
        if found is None:
            is_written = "&" not in rest or is_sorted(rest)
            return url if is_written else f"{scheme}://{behind[:start]}{url_map.write(values)}"
        number, changed = found
        repeats = self._plain.get(number)
        if repeats is not None and not any(key in values for key in repeats):
            is_settled = trie.fire(changed) is None
            return f"{scheme}://{behind[:start]}{url_map.write(changed)}" if is_settled else self.trace(url)[0]
        current, values = _read(_written(url, changed, url_map), url_map, changed)
        return current if trie.fire(values) is None else self.trace(url)[0]

    def trace(self, url: str) -> tuple[str, list[int]]:
        """Form of *url*, and the places of the rules that led to it, in order; none where its own form is kept."""
        passed, fired, is_settled = self._walk(url)
        if is_settled:
            return passed[-1], fired
        if passed[-1] not in passed[:-1]:
            return passed[0], []
        smallest = min(passed[passed.index(passed[-1]) :])
        return smallest, fired[: passed.index(smallest)]

    def circle(self, url: str) -> list[int]:
        """Places of the rules that send *url* round and round; none where it settles."""
        passed, fired, is_settled = self._walk(url)
        return [] if is_settled else fired[passed.index(passed[-1]) :]

    def _shrunk(
        self, rest: str, scheme: str, trie: _Trie | None, substrings: SubstringIndex, url_map: UrlMap
    ) -> str | None:
        """What the walk of a URL ends in, without writing down the way; None where that is not plain."""
        for _ in range(_MAX_PASSES):
            if "&" in rest:
                rest = with_sorted_query(rest)
            found = None
            if trie is not None and ("?" in rest or not trie.needs_query):
                values = url_map.read(rest, scheme)
                found = trie.fire(values)
            if found is not None:
                number, changed = found
                repeats = self._plain.get(number)
                if repeats is None or any(key in values for key in repeats):
                    return None
                rest = url_map.write(changed)
            elif (shrunk := substrings.fire(rest)) is not None:
                rest = shrunk[1]  # of whole tokens in normal form: so is what they make together
            else:
                return rest
        return None

    def _walk(self, url: str) -> tuple[list[str], list[int], bool]:
        """The forms that *url* passes, the rules between them, and whether no rule fires on the last one."""
        host = host_of(url)
        current, values = _read(url, self.maps.get(host, _KEY_VALUES), None)
        passed: list[str] = [current]
        fired: list[int] = []
        while len(fired) < (_MAX_SHRINKS if host in self._substrings else _MAX_PASSES):
            found = self._fire(host, current, values)
            if found is None:
                return passed, fired, True
            number, current, values = found
            fired.append(number)
            passed.append(current)
            if current in passed[:-1]:
                break
        return passed, fired, False

    def _fire(
        self, host: str, current: str, values: Mapping[str, str | None]
    ) -> tuple[int, str, dict[str, str | None]] | None:
        """The rule that fires on a URL, the form that it gives, and that one's map."""
        trie, substrings = self._tries.get(host), self._substrings.get(host)
        url_map = self.maps.get(host, _KEY_VALUES)
        if trie is not None and (found := trie.fire(values)) is not None:
            number, changed = found
            return number, *_read(_written(current, changed, url_map), url_map, changed)
        scheme, mark, behind = current.partition("://")
        start = behind.find("/") if mark else -1
        if substrings is None or start < 0 or (shrunk := substrings.fire(behind[start:])) is None:
            return None
        number, rest = shrunk
        return number, *_read(normal_form(f"{scheme}://{behind[:start]}{rest}"), url_map, None)


def read_url(url: str, url_map: UrlMap) -> tuple[str, dict[str, str | None]]:
    """A URL in normal form with its query sorted, and its map; the query's order is not part of the map."""
    return _read(url, url_map, None)


def _read(url: str, url_map: UrlMap, written: Mapping[str, str | None] | None) -> tuple[str, dict[str, str | None]]:
    """Read a URL; one that was just *written* from the same map is sorted already."""
    scheme, mark, behind = url.partition("://")
    start = behind.find("/") if mark else -1
    if start < 0:  # no absolute URL: no rule can be meant for it
        return url, {}
    rest = behind[start:]
    values = url_map.read(rest, scheme)
    if "&" in rest and values != written and not is_sorted(rest):
        return f"{scheme}://{behind[:start]}{url_map.write(values)}", values
    return url, values


def write_url(url: str, values: Mapping[str, str | None], url_map: UrlMap) -> str:
    """The URL of a map, at the authority of *url*, in normal form with its query sorted."""
    return read_url(_written(url, values, url_map), url_map)[0]


def _written(url: str, values: Mapping[str, str | None], url_map: UrlMap) -> str:
    authority = url.partition("://")[2].partition("/")[0]
    # a value may hold what has to be encoded, or what says something else where it stands now
    return normal_form(f"{values['scheme']}://{authority}{url_map.write(values)}")


def _is_plain(key: str, operation: Operation) -> bool:
    """Whether a map that was changed so is what would be read of it again, if the key is not repeated."""
    is_plain_value = isinstance(operation, (Drop, Star)) or (
        isinstance(operation, Set) and _PLAIN_VALUE(operation.value or "") is not None
    )
    return is_plain_value and _PLAIN_KEY(key) is not None


class _Trie:
    """Finds the rule of one host that fires."""

    def __init__(self, numbered: Sequence[_Numbered]) -> None:
        self._rules = sorted(numbered, key=lambda pair: (*(-n for n in pair[1].specificity()), pair[0]))
        named = [rule.required() | rule.absent for _, rule in self._rules]
        self._named = frozenset().union(*named)
        self._required = [rule.required() for _, rule in self._rules]
        self.needs_query = all(any(key[:6] == "query[" for key in required) for required in self._required)
        """Whether no rule may be applied to a URL without a query."""
        self._shapes: dict[tuple[str, ...], _Node] = {}
        self._n_nodes = 0

    def fire(self, values: Mapping[str, str | None]) -> tuple[int, dict[str, str | None]] | None:
        """Number of the first rule that changes the map, and the changed map."""
        named = self._named
        shape = tuple([key for key in values if key in named])
        node = self._shapes.get(shape)
        if node is None:
            node = self._shapes[shape] = self._first_node(shape)
        while node.key is not None:
            value = values[node.key]
            if value not in node.by_value:
                value = _OTHER
            following = node.children.get(value)
            if following is None:
                following = node.children[value] = self._node(node.rules_with(value))
            node = following
        for number, rule, has_classes in node.rules:
            if has_classes and not rule.matches(values):
                continue
            changed = rule.apply(values)
            if changed != values:
                return number, changed
        return None

    def _first_node(self, shape: tuple[str, ...]) -> _Node:
        keys = set(shape)
        fitting = [
            (pair, _literals(pair[1]))
            for pair, required in zip(self._rules, self._required, strict=True)
            if required <= keys and pair[1].absent.isdisjoint(keys)
        ]
        return self._node(fitting)

    def _node(self, rules: list[_Tested]) -> _Node:
        self._n_nodes += 1
        if self._n_nodes > _MAX_NODES:
            self._shapes.clear()
            self._n_nodes = 0
        return _Node(rules)


_OTHER = "\0other"  # no value of a URL in normal form
_Tests = Mapping[str, "frozenset[str | None]"]
_Tested = tuple[_Numbered, _Tests]
"""A rule and those of its literal tests that were not made yet."""


class _Node:
    """Rules that may still match, told apart by the values of one key; no key where nothing is left to tell apart."""

    __slots__ = ("_rest", "by_value", "children", "key", "rules")

    def __init__(self, tested: list[_Tested]) -> None:
        counts: dict[str, int] = defaultdict(int)
        for _, tests in tested:
            for key in tests:
                counts[key] += 1
        self.key = max(counts, key=lambda key: (counts[key], key)) if counts else None
        self.children: dict[str | None, _Node] = {}
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
