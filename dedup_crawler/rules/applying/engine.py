"""Applies rules to a URL, one after the other, until none fires.

In each pass, the most specific rule fires that matches the URL and changes it. A substring rule fires only if no other
rule does. If the rules run in a circle, the result is the lexicographically smallest form of the circle. If they have
not ended after ten passes, the URL keeps its own form. With substring rules a hundred passes are allowed, because each
of them makes the URL smaller. In all cases, the form of a form is the form itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from dedup_crawler.grouping import grouped
from dedup_crawler.rules.language.identifiers import order_identifier, rule_identifier
from dedup_crawler.rules.language.matchers import few_values
from dedup_crawler.rules.language.rule import AnyRule, Rule, SubstringIndex, SubstringRule
from dedup_crawler.urls.keyvalue import KEY_VALUES, KeyValues, UrlMap, is_other_query_order, name_of
from dedup_crawler.urls.normal import host_of, normal_form

_MAX_PASSES = 10
_MAX_SHRINKS = 100
_ANY = "\0any"  # stands for any value; no URL in normal form has it

_Ranked = tuple[int, int, Rule]
"""Rank (the most specific rule first), number and rule."""
_Trace = tuple[str, list[int]]
"""Form of a URL, and the numbers of the rules that led to the form."""


class RuleIndex:
    """Finds the numbered rules of one host that may fire on a URL, without trying all of them.

    Each rule is filed under one key that it requires. If it requires literal values, it is filed under the key and
    value that fewest rules ask for. Of two equally specific rules, the one with the smaller number is tried first.
    """

    def __init__(self, numbered: Iterable[tuple[int, Rule]]) -> None:
        ordered = sorted(numbered, key=lambda pair: (*(-n for n in pair[1].specificity()), pair[0]))
        self._filed: dict[str, dict[str | None, list[_Ranked]]] = defaultdict(lambda: defaultdict(list))
        literals = [
            {key: values for key, matcher in rule.context.items() if (values := few_values(matcher)) is not None}
            for _, rule in ordered
        ]
        n_asking = Counter((key, value) for its in literals for key, values in its.items() for value in values)
        for rank, ((number, rule), its) in enumerate(zip(ordered, literals, strict=True)):
            if its:
                key = min(its, key=lambda key: (sum(n_asking[key, value] for value in its[key]), key))
            else:  # query keys are the rarest, and every URL has a scheme
                key = max(rule.required(), key=lambda key: (key[:6] == "query[", key), default="scheme")
            for value in its.get(key, (_ANY,)):
                self._filed[key][value].append((rank, number, rule))

    def fire(self, values: Mapping[str, str | None]) -> tuple[int, KeyValues] | None:
        """Number of the most specific rule that changes the map of a URL, and the changed map; None without one."""
        found: list[_Ranked] = []
        filed = self._filed
        for key in filed if len(filed) < len(values) else values:
            if key in filed and key in values:
                found += filed[key].get(_ANY, ())
                found += filed[key].get(values[key], ())
        if len(found) > 1:
            found.sort()
        for _, number, rule in found:
            if rule.matches(values):
                changed = rule.apply(values)
                if changed != values:
                    return number, changed
        return None


class RuleEngine:
    """Gives URLs their canonical forms by *rules* of any hosts; of two equally specific ones, the first is tried first.

    *maps* holds the map that reads the URLs of a host, if it is not the usual one. The forms of *n_remembered* URLs are
    remembered: callers often ask for form and rules of the same URL, and learning asks for all forms several times.
    """

    def __init__(
        self, rules: Iterable[AnyRule], maps: Mapping[str, UrlMap] | None = None, n_remembered: int = 1
    ) -> None:
        self.rules = list(rules)
        self.maps = dict(maps or {})
        numbered = list(enumerate(self.rules))
        plain = grouped((rule.host, (number, rule)) for number, rule in numbered if isinstance(rule, Rule))
        substrings = grouped(
            (rule.host, (number, rule)) for number, rule in numbered if isinstance(rule, SubstringRule)
        )
        self._indexes = {host: RuleIndex(its) for host, its in plain.items()}
        self._substrings = {host: SubstringIndex(its) for host, its in substrings.items()}
        self._n_remembered = n_remembered
        self._remembered: dict[str, _Trace] = {}

    def form(self, url: str) -> str:
        """Form of a URL in normal form, on any host; never raises."""
        return self.trace(url)[0]

    def trace(self, url: str) -> _Trace:
        """Form of *url*, and the numbers of the rules that led to the form, in order."""
        remembered = self._remembered.get(url)
        if remembered is not None:
            return remembered
        passed, fired, is_settled = self._walk(url)
        found = passed[-1], fired
        if not is_settled:
            is_circle = passed[-1] in passed[:-1]
            form = min(passed[passed.index(passed[-1]) :]) if is_circle else passed[0]
            found = form, fired[: passed.index(form)]
        if len(self._remembered) >= self._n_remembered:
            self._remembered.clear()
        self._remembered[url] = found
        return found

    def steps(self, url: str) -> list[tuple[int, str]]:
        """Numbers of the rules that fire on *url*, in order, each with the URL on which it fires."""
        passed, fired, _ = self._walk(url)
        return [*zip(fired, passed, strict=False)]  # the last URL is the form

    @cached_property
    def identifiers(self) -> list[str]:
        """Identifiers of the rules, in their order."""
        return [rule_identifier(rule) for rule in self.rules]

    def fired(self, url: str, form: str) -> tuple[str, ...]:
        """Identifiers of the rules that lead from *url* to a different *form*, in order.

        The identifier for the sorting of queries is among them if the order of the query changed.
        """
        found = dict.fromkeys([self.identifiers[number] for number in self.trace(url)[1]])
        if not found or is_other_query_order(url, form):
            found[order_identifier(host_of(url))] = None
        return tuple(found)

    def without(self, identifiers: Collection[str]) -> RuleEngine:
        """An engine without some of the rules; the others keep their order."""
        kept = self.kept(identifiers)
        engine = RuleEngine([self.rules[number] for number in kept], self.maps)
        engine.identifiers = [self.identifiers[number] for number in kept]
        return engine

    def kept(self, without: Collection[str]) -> list[int]:
        """Numbers of the rules whose identifiers are not in *without*."""
        return [number for number, known in enumerate(self.identifiers) if known not in without]

    def circle(self, url: str) -> list[int]:
        """Numbers of the rules that run in a circle on *url*; empty if there is no circle."""
        passed, fired, is_settled = self._walk(url)
        return [] if is_settled else fired[passed.index(passed[-1]) :]

    def _walk(self, url: str) -> tuple[list[str], list[int], bool]:
        """Apply rules: the forms in order, the rules between them, and True if no rule fires on the last form."""
        host = host_of(url)
        index, substrings = self._indexes.get(host), self._substrings.get(host)
        url_map = self.maps.get(host, KEY_VALUES)
        current, values = read_url(url, url_map)
        passed, fired = [current], list[int]()
        if not values:  # no absolute URL
            return passed, fired, True
        while len(fired) < (_MAX_PASSES if substrings is None else _MAX_SHRINKS):
            start = _start_of_path(current)
            if index is not None and (changed := index.fire(values)) is not None:
                number, after = changed
                written = f"{after['scheme']}{current[current.index('://') : start]}{url_map.write(after)}"
            elif substrings is not None and (shrunk := substrings.fire(current[start:])) is not None:
                number, rest = shrunk
                written = current[:start] + rest
            else:
                return passed, fired, True
            current, values = read_url(normal_form(written), url_map)  # a value may need other escapes in its new place
            fired.append(number)
            passed.append(current)
            if current in passed[:-1]:
                break
        return passed, fired, False


def read_url(url: str, url_map: UrlMap) -> tuple[str, KeyValues]:
    """Sort the query of a URL in normal form; return the URL and its map."""
    start = _start_of_path(url)
    if start < 0:  # no absolute URL: rules do not apply
        return url, {}
    values = url_map.read(url[start:], url[: url.index("://")])
    path, _, query = url.partition("?")
    parts = query.split("&")
    parts.sort(key=name_of)
    return f"{path}?{'&'.join(parts)}" if query else url, values


def _start_of_path(url: str) -> int:
    """Position of the path in an absolute URL; -1 for other strings."""
    mark = url.find("://")
    return url.find("/", mark + 3) if mark >= 0 and "?" not in url[:mark] else -1
