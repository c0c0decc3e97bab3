"""The URLs of one host as maps, with the page that each shows: what miners read, and what speaks for a rule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dedup_crawler.rules.alike_urls import AlikeUrls
from dedup_crawler.rules.engine import read_url
from dedup_crawler.rules.pairs import STRUCTURE
from dedup_crawler.rules.rule import KeyValueMap, Rule, UrlMap
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
        self.pages: list[int] = []
        """The cluster of each URL."""
        self._place: dict[str, int] = {}
        self._counted: dict[tuple[object, ...], RuleStatistics] = {}
        self._with_keys: dict[tuple[frozenset[str], frozenset[str]], list[AlikeUrls]] = {}
        for url, cluster in zip(urls, clusters, strict=True):
            form, values = read_url(url, url_map)
            if form not in self._place:
                self._place[form] = len(self.urls)
                self.urls.append(MappedUrl(form, values, cluster))
                self.pages.append(cluster)

    @cached_property
    def clusters(self) -> Mapping[int, list[int]]:
        """Cluster -> places of its URLs, in crawl order."""
        members: dict[int, list[int]] = defaultdict(list)
        for place, url in enumerate(self.urls):
            members[url.cluster].append(place)
        return members

    def matching(self, rule: Rule) -> list[int]:
        """Places of the URLs that *rule* may be applied to."""
        return sorted(place for group in self._groups_for(rule) for place in group.matching(rule))

    def counted(self, rule: Rule) -> Rule:
        """The rule with what these URLs say of it, applied once and alone."""
        known = self._counted.get(rule.identity())
        if known is not None:
            return replace(rule, statistics=known)
        places: list[int] = []
        forms: list[str] = []
        for group in self._groups_for(rule):
            its_places, its_forms = group.changed(rule, self.url_map)
            places += its_places
            forms += its_forms
        statistics = self._merged(places, forms) if forms else RuleStatistics()
        self._counted[rule.identity()] = statistics
        return replace(rule, statistics=statistics)

    @cached_property
    def _groups(self) -> list[AlikeUrls]:
        """The URLs by what they are built like; few, where there are many URLs."""
        groups: dict[tuple[object, ...], AlikeUrls] = {}
        for place, url in enumerate(self.urls):
            authority = url.form.split("/", 3)[2] if "://" in url.form else ""
            values = url.values
            built: tuple[object, ...] = (authority, tuple(values), *map(values.get, STRUCTURE))
            if None in values.values():
                built += tuple([key for key, value in values.items() if value is None])
            if built not in groups:
                constants = {key: value for key, value in values.items() if value is None or key in STRUCTURE}
                groups[built] = AlikeUrls(authority, [key for key in values if key not in constants], constants)
            groups[built].add(place, values)
        return list(groups.values())

    def _groups_for(self, rule: Rule) -> list[AlikeUrls]:
        """Those with the keys that a rule speaks of."""
        keys = rule.required(), rule.absent
        found = self._with_keys.get(keys)
        if found is None:
            found = self._with_keys[keys] = [group for group in self._groups if group.has_keys(*keys)]
        return found

    def _merged(self, places: Sequence[int], forms: Sequence[str]) -> RuleStatistics:
        """What becomes one where the URLs at *places* get these forms."""
        changed = set(places)
        known = [(form, self._place[form]) for form in self._place.keys() & set(forms)]
        others = [(form, self.pages[place]) for form, place in known if place not in changed]
        return count_merges(forms, [self.pages[place] for place in places], others)
