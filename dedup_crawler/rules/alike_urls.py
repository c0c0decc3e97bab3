"""URLs of a crawl that are built alike: a rule is worked out once for all of them, then only values are looked at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress
from operator import itemgetter

from dedup_crawler.rules.actions import Places, compiled
from dedup_crawler.rules.rule import ANY, Literal, Matcher, OfClass, OneOf, Rule, UrlMap

_Url = tuple[int, tuple[str, ...]]
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
        self._pick = _picker(keys)
        self._urls: list[_Url] = []
        self._by_value: dict[str, dict[str, list[_Url]]] = {}
        self._of_class: dict[tuple[int, OfClass], frozenset[str]] = {}

    def add(self, place: int, values: Mapping[str, str | None]) -> None:
        """Add the URL at *place* of the crawl."""
        self._urls.append((place, self._pick(values)))

    def matching(self, rule: Rule) -> Iterator[int]:
        """Places of the URLs that *rule*, which is meant for such keys, may be applied to."""
        return (place for place, _ in self._matching(rule)) if self._may_match(rule) else iter(())

    def changed(self, rule: Rule, url_map: UrlMap) -> tuple[list[int], list[str]]:
        """Places and new forms of the URLs that *rule*, which is meant for such keys, changes."""
        if not self._may_match(rule):
            return [], []
        action = compiled(rule, self._places, None, url_map)
        if action is None:
            return [], []
        found = self._matching(rule)
        if action.text is None:
            return self._changed_one_by_one(rule, found, url_map)
        if action.differs:  # the tests were made
            is_changed = [
                any(values[at] != (value if other is None else values[other]) for at, other, value in action.differs)
                for _, values in found
            ]
            found = list(compress(found, is_changed))
        template, pick = action.text
        whole = f"{action.scheme}://{self._authority}".replace("%", "%%") + template
        return [place for place, _ in found], [whole % pick(values) for _, values in found]

    def _changed_one_by_one(self, rule: Rule, found: Sequence[_Url], url_map: UrlMap) -> tuple[list[int], list[str]]:
        places, forms = [], []
        for place, values in found:
            before = self._places.read(values)
            after = rule.apply(before)
            if after != before:
                places.append(place)
                forms.append(f"{after['scheme']}://{self._authority}{url_map.write(after)}")
        return places, forms

    def has_keys(self, required: frozenset[str], absent: frozenset[str]) -> bool:
        """Whether all of the one and none of the other are keys of these URLs."""
        return required <= self._keys and absent.isdisjoint(self._keys)

    def _may_match(self, rule: Rule) -> bool:
        context = rule.context
        return all(context[key].matches(value) for key, value in self._places.constants.items() if key in context)

    def _matching(self, rule: Rule) -> list[_Url]:
        """URLs that *rule* may be applied to, which may match."""
        index = self._places.index
        tests = [(key, matcher) for key, matcher in rule.context.items() if key in index]
        found = self._urls
        literals = [(key, matcher) for key, matcher in tests if isinstance(matcher, (Literal, OneOf))]
        if literals:
            found = min([self._with(key, matcher) for key, matcher in literals], key=len)
        for key, matcher in tests:
            if matcher != ANY:
                found = self._kept(found, index[key], matcher)
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

    def _kept(self, urls: list[_Url], number: int, matcher: Matcher) -> list[_Url]:
        if isinstance(matcher, Literal):
            return [url for url in urls if url[1][number] == matcher.value]
        if not isinstance(matcher, OfClass):
            return [url for url in urls if matcher.matches(url[1][number])]
        fitting = self._of_class.get((number, matcher))
        if fitting is None:  # there are four classes, and many rules that ask for them
            values = {values[number] for _, values in self._urls}
            fitting = self._of_class[number, matcher] = frozenset(filter(matcher.matches, values))
        return [url for url in urls if url[1][number] in fitting]


def _picker(keys: Sequence[str]) -> Callable[[Mapping[str, str | None]], tuple[str, ...]]:
    """Takes the values of these keys."""
    if len(keys) > 1:
        return itemgetter(*keys)
    return lambda values: tuple([values[key] or "" for key in keys])
