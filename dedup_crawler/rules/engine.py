"""Applying rules: the one that fires is found by an index, whose cost does not grow with the number of rules.

Of the rules whose context a URL meets (:mod:`dedup_crawler.rules.trie`) the most specific one that changes the URL
fires; that is repeated with what it gave until nothing fires. A URL that has not settled after ten passes keeps its own
form; of a circle, the lexicographically smallest form is taken. Both make the form of a form that form. Most URLs get
their form from a plan for all that are built alike (:mod:`dedup_crawler.rules.plans`); the way that is written down
here explains, and it decides where rules go on and on. Substring rules have an index of their own and are tried where
no other rule fires; as each of them makes the URL smaller, a hundred passes are allowed where there are any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from dedup_crawler.rules.plans import HostPlans
from dedup_crawler.rules.rule import KeyValueMap, Rule, UrlMap
from dedup_crawler.rules.rule_ids import order_identifier, rule_identifier
from dedup_crawler.rules.substring_index import SubstringIndex
from dedup_crawler.rules.substring_rule import AnyRule, SubstringRule
from dedup_crawler.rules.trie import Numbered, Trie
from dedup_crawler.urls.keyvalue import is_reordered, is_sorted, with_sorted_query
from dedup_crawler.urls.normal import host_of, normal_form

_MAX_PASSES = 10
_MAX_SHRINKS = 100
_KEY_VALUES = KeyValueMap()


class RuleEngine:
    """Gives URLs the forms that rules say.

    Parameters
    ----------
    rules
        Of any hosts; where two are equally specific, the first is tried first.
    maps
        Host -> how its URLs are read; :class:`KeyValueMap` where nothing is said.
    query_keys
        Host -> the only names in a query that its rules know: URLs with any other are left alone. Any where nothing is
        said.
    """

    def __init__(
        self,
        rules: Iterable[AnyRule],
        maps: Mapping[str, UrlMap] | None = None,
        query_keys: Mapping[str, frozenset[str]] | None = None,
    ) -> None:
        self.rules = list(rules)
        self.maps = dict(maps or {})
        self._query_keys = dict(query_keys or {})
        of_host: dict[str, list[Numbered]] = defaultdict(list)
        substrings: dict[str, list[tuple[int, SubstringRule]]] = defaultdict(list)
        for number, rule in enumerate(self.rules):
            if isinstance(rule, SubstringRule):
                substrings[rule.host].append((number, rule))
            else:
                of_host[rule.host].append((number, rule))
        self._tries = {host: Trie(numbered) for host, numbered in of_host.items()}
        self._substrings = {host: SubstringIndex(numbered) for host, numbered in substrings.items()}
        few = {host: index for host, index in self._substrings.items() if index.are_few}
        self._unplanned = {host: index for host, index in self._substrings.items() if not index.are_few}
        self._untouched: set[str] = set()
        self._plans = {
            host: HostPlans(
                self._tries.get(host) or Trie(()),
                self.maps.get(host, _KEY_VALUES),
                self._query_keys.get(host),
                few.get(host),
                self._untouched if host not in self._unplanned else None,
            )
            for host in self._tries.keys() | few.keys()
        }
        # whoever has asked for a form often asks next which rules led to it
        self._latest: tuple[str, list[Rule]] = ("", [])

    def form(self, url: str) -> str:
        """Form of a URL in normal form, on a host that has rules or not; never raises."""
        head, _, last = url.rpartition("=")
        if head in self._untouched and "&" not in last:
            return url
        if self._unplanned and (substrings := self._unplanned.get(host := host_of(url))) is not None:
            return url if self.is_strange(url) else self._shrunk(url, host, substrings) or self.trace(url)[0]
        rules: list[Rule] = []
        form = self._planned(url, rules)
        if form is not None:
            self._latest = url, rules
            return form
        if host_of(url) in self._plans or self.is_strange(url):
            return self.trace(url)[0]
        return _read(url, self.maps.get(host_of(url), _KEY_VALUES), None)[0] if "&" in url else url

    def is_strange(self, url: str) -> bool:
        """Whether a URL has names in its query that the rules of its host do not know."""
        known = self._query_keys.get(host_of(url)) if self._query_keys else None
        query = url.partition("?")[2]
        return (
            known is not None
            and bool(query)
            and not known.issuperset([part.partition("=")[0] for part in query.split("&")])
        )

    def trace(self, url: str) -> tuple[str, list[int]]:
        """Form of *url*, and the places of the rules that led to it, in order; none where its own form is kept."""
        if self.is_strange(url):
            return url, []
        passed, fired, is_settled = self._walk(url)
        if is_settled:
            return passed[-1], fired
        if passed[-1] not in passed[:-1]:
            return passed[0], []
        smallest = min(passed[passed.index(passed[-1]) :])
        return smallest, fired[: passed.index(smallest)]

    @cached_property
    def identifiers(self) -> list[str]:
        """Of the rules, in their order."""
        return [rule_identifier(rule) for rule in self.rules]

    @cached_property
    def _identifier_of(self) -> dict[int, str]:
        return {id(rule): known for rule, known in zip(self.rules, self.identifiers, strict=True)}

    def fired(self, url: str, form: str) -> tuple[str, ...]:
        """Identifiers of what leads from *url* to its *form*, another one, in order: of rules and of the sorted query.

        The order of the query counts where it is changed, not where all but one key are dropped.
        """
        host = host_of(url)
        latest, rules = self._latest
        is_planned = latest == url
        # plans do not tell which substring rules they apply
        if host in self._substrings or not (is_planned or self._planned(url, rules := []) is not None):
            found = dict.fromkeys([self.identifiers[number] for number in self.trace(url)[1]])
        else:
            found = dict.fromkeys([self._identifier_of[id(rule)] for rule in rules])
        if not found or is_reordered(url, form):
            found[order_identifier(host)] = None
        return tuple(found)

    def without(self, identifiers: Collection[str]) -> RuleEngine:
        """An engine that lacks some of the rules; the others keep their order."""
        return RuleEngine([self.rules[number] for number in self.kept(identifiers)], self.maps, self._query_keys)

    def kept(self, without: Collection[str]) -> list[int]:
        """Numbers of the rules whose identifiers are not among these."""
        return [number for number, known in enumerate(self.identifiers) if known not in without]

    def circle(self, url: str) -> list[int]:
        """Places of the rules that send *url* round and round; none where it settles."""
        if self._planned(url) is not None:
            return []
        passed, fired, is_settled = self._walk(url)
        return [] if is_settled else fired[passed.index(passed[-1]) :]

    def _shrunk(self, url: str, host: str, substrings: SubstringIndex) -> str | None:
        """What the way of a URL ends in; None where it is long."""
        start = url.find("/", url.find("://") + 3)
        if start < 0:
            return None
        plans = self._plans.get(host)
        origin, rest = url[:start], url[start:]
        for _ in range(_MAX_PASSES):
            if plans is not None and not (plans.need_query and "?" not in rest):
                planned = self._planned(origin + rest)
                if planned is None:
                    return None
                start = planned.find("/", planned.find("://") + 3)
                origin, rest = planned[:start], planned[start:]
            elif "&" in rest:
                rest = with_sorted_query(rest)
            found = substrings.fire(rest)
            if found is None:
                return origin + rest
            # of whole tokens in normal form: so is what they make together
            rest = found[1]
            if self._query_keys and self.is_strange(origin + rest):
                return None  # a plan would leave it as it is
        return None

    def _planned(self, url: str, fired: list[Rule] | None = None) -> str | None:
        """Form of a URL that settles soon; None where only the long way says. *fired* takes the rules."""
        parts = url.split("/", 3)
        if len(parts) != 4 or parts[1] or parts[0][-1:] != ":":
            return None
        plans = self._plans.get(parts[2])
        return plans.form(parts[0][:-1], parts[2], parts[3], fired) if plans is not None else None

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
