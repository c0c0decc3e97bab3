"""The URLs of one host as maps, with the page that each shows: what miners read, and what speaks for a rule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dedup_crawler.rules.engine import read_url
from dedup_crawler.rules.rule import KeyValueMap, Literal, OneOf, Rule, UrlMap
from dedup_crawler.rules.statistics import RuleStatistics, count_merges
from dedup_crawler.urls.keyvalue import KeyValues

_KEY_VALUES = KeyValueMap()


@dataclass(frozen=True, slots=True)
class MappedUrl:
    """A crawled URL."""

    form: str
    """With its query sorted."""
    values: KeyValues
    cluster: int


class MappedCrawl:
    """Distinct URLs of one host, in crawl order; those that differ in the order of the query are one.

    Parameters
    ----------
    host
        With its port.
    urls
        In normal form, all of this host.
    clusters
        ``clusters[i]`` names the page that ``urls[i]`` shows.
    url_map
        How URLs are read.
    """

    def __init__(self, host: str, urls: Sequence[str], clusters: Sequence[int], url_map: UrlMap = _KEY_VALUES) -> None:
        self.host = host
        self.url_map = url_map
        self.urls: list[MappedUrl] = []
        self._place: dict[str, int] = {}
        for url, cluster in zip(urls, clusters, strict=True):
            form, values = read_url(url, url_map)
            if form not in self._place:
                self._place[form] = len(self.urls)
                self.urls.append(MappedUrl(form, values, cluster))

    @cached_property
    def clusters(self) -> Mapping[int, list[int]]:
        """Cluster -> places of its URLs, in crawl order."""
        members: dict[int, list[int]] = defaultdict(list)
        for place, url in enumerate(self.urls):
            members[url.cluster].append(place)
        return members

    def matching(self, rule: Rule) -> list[int]:
        """Places of the URLs that *rule* may be applied to."""
        lists = [self._with_key[key] for key in rule.required()]
        for key, matcher in rule.context.items():
            if isinstance(matcher, Literal):
                lists.append(self._with_value.get((key, matcher.value), []))
            elif isinstance(matcher, OneOf):
                lists.append([place for value in matcher.values for place in self._with_value.get((key, value), [])])
        candidates = min(lists, key=len) if lists else range(len(self.urls))
        return sorted(place for place in candidates if rule.matches(self.urls[place].values))

    def counted(self, rule: Rule) -> Rule:
        """The rule with what these URLs say of it, applied once and alone."""
        changed: dict[int, str] = {}
        for place in self.matching(rule):
            url = self.urls[place]
            values = rule.apply(url.values)
            if values != url.values:
                changed[place] = self._form(url, values)
        others = []
        for form in set(changed.values()):
            other = self._place.get(form)
            if other is not None and other not in changed:
                others.append((form, self.urls[other].cluster))
        pages = [(form, self.urls[place].cluster) for place, form in changed.items()]
        statistics = count_merges(pages, others) if pages else RuleStatistics()
        return replace(rule, statistics=statistics)

    def _form(self, url: MappedUrl, values: KeyValues) -> str:
        authority = url.form.partition("://")[2].partition("/")[0]
        return f"{values['scheme']}://{authority}{self.url_map.write(values)}"

    @cached_property
    def _with_key(self) -> Mapping[str, list[int]]:
        places: dict[str, list[int]] = defaultdict(list)
        for place, url in enumerate(self.urls):
            for key in url.values:
                places[key].append(place)
        return places

    @cached_property
    def _with_value(self) -> Mapping[tuple[str, str | None], list[int]]:
        places: dict[tuple[str, str | None], list[int]] = defaultdict(list)
        for place, url in enumerate(self.urls):
            for item in url.values.items():
                places[item].append(place)
        return places
