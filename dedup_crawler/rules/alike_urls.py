"""URLs of a crawl that are built alike: a rule is worked out once for all of them, then only values are looked at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from dedup_crawler.rules.actions import Places, compiled
from dedup_crawler.rules.rule import ANY, Literal, Matcher, OneOf, Rule, UrlMap

_Url = tuple[int, Sequence[str]]
"""Its place in the crawl, and its values."""


class AlikeUrls:
    """URLs with the same keys.

    Parameters
    ----------
    authority
        Of all of them.
    keys
        Those whose values differ from URL to URL.
    constants
        All other keys of these URLs.
    """

    def __init__(self, authority: str, keys: Sequence[str], constants: Mapping[str, str | None]) -> None:
        self._authority = authority
        self._places = Places({key: number for number, key in enumerate(keys)}, constants)
        self._keys = frozenset((*keys, *constants))
        self._urls: list[_Url] = []
        self._by_value: dict[str, dict[str, list[_Url]]] = {}

    def add(self, place: int, values: Sequence[str]) -> None:
        """Add the URL at *place* of the crawl, with the values of the keys."""
        self._urls.append((place, values))

    def matching(self, rule: Rule) -> Iterator[int]:
        """Places of the URLs that *rule* may be applied to."""
        return (place for place, _ in self._matching(rule))

    def changed(self, rule: Rule, url_map: UrlMap) -> dict[int, str]:
        """Place -> new form of the URLs that *rule* changes."""
        if not self._may_match(rule):
            return {}
        action = compiled(rule, self._places, None, url_map)
        if action is None:
            return {}
        if action.text is None:
            return self._changed_one_by_one(rule, url_map)
        template, pick = action.text
        head = f"{action.scheme}://{self._authority}"
        return {
            place: head + template % pick(values)
            for place, values in self._matching(rule)
            if action.fires(self._places, values)
        }

    def _changed_one_by_one(self, rule: Rule, url_map: UrlMap) -> dict[int, str]:
        changed = {}
        for place, values in self._matching(rule):
            before = self._places.read(values)
            after = rule.apply(before)
            if after != before:
                changed[place] = f"{after['scheme']}://{self._authority}{url_map.write(after)}"
        return changed

    def _may_match(self, rule: Rule) -> bool:
        constants = self._places.constants
        return (
            rule.required() <= self._keys
            and rule.absent.isdisjoint(self._keys)
            and all(matcher.matches(constants[key]) for key, matcher in rule.context.items() if key in constants)
        )

    def _matching(self, rule: Rule) -> list[_Url]:
        if not self._may_match(rule):
            return []
        index = self._places.index
        tests = [(key, matcher) for key, matcher in rule.context.items() if key in index]
        found = self._urls
        literals = [(key, matcher) for key, matcher in tests if isinstance(matcher, (Literal, OneOf))]
        if literals:
            found = min([self._with(key, matcher) for key, matcher in literals], key=len)
        for key, matcher in tests:
            if matcher != ANY:
                found = _kept(found, index[key], matcher)
        return found

    def _with(self, key: str, matcher: Literal | OneOf) -> list[_Url]:
        """URLs that have a literal, by an index of the key's values."""
        by_value = self._by_value.get(key)
        if by_value is None:
            by_value = self._by_value[key] = defaultdict(list)
            number = self._places.index[key]
            for url in self._urls:
                by_value[url[1][number]].append(url)
        values = (matcher.value,) if isinstance(matcher, Literal) else matcher.values
        return [url for value in values if value is not None for url in by_value.get(value, ())]


def _kept(urls: list[_Url], number: int, matcher: Matcher) -> list[_Url]:
    if isinstance(matcher, Literal):
        return [url for url in urls if url[1][number] == matcher.value]
    return [url for url in urls if matcher.matches(url[1][number])]
