"""The common part of all miners: they make the rules of each host, and the rule engine applies them."""

from __future__ import annotations

import copy
import gc
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dedup_crawler.methods.base import Canonicalizer
from dedup_crawler.methods.model.explanations import Explanation, KnownRule, Referrer, known_rules
from dedup_crawler.methods.model.folder import ModelFiles
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.exchange.exports import ModelRules
from dedup_crawler.rules.language.rule import AnyRule, Rule
from dedup_crawler.rules.language.rule_files import rules_from_json, rules_to_json
from dedup_crawler.rules.language.sentences import sentence_of
from dedup_crawler.rules.miners.mapped_crawl import MappedCrawl
from dedup_crawler.urls.keyvalue import UrlMap, learn_cuts
from dedup_crawler.urls.normal import places_by_host

_FILE = "rules.json"
_CUTS_FILE = "deep_keys.json"


class RuleBased(Canonicalizer):
    """A method whose whole model is ``rules.json``."""

    engine_: RuleEngine

    @abstractmethod
    def _mined(self, host: str, urls: Sequence[str], clusters: Sequence[int]) -> tuple[Sequence[AnyRule], UrlMap]:
        """Rules of one host, and the map that reads its URLs."""

    def model_rules(self) -> ModelRules:
        """The rules for export."""
        return ModelRules(self.engine_.rules, self.engine_.maps)

    def learnt(self) -> list[str]:
        """Every rule with its evidence."""
        return [
            f"rule {number} ({rule}): {rule.evidence.n_groups} merge groups, {rule.evidence.n_wrong} wrong"
            for number, rule in enumerate(self.engine_.rules, start=1)
        ]

    def n_learnt(self) -> int:
        """Number of rules."""
        return len(self.engine_.rules)

    def _quality(self) -> dict[str, Any]:
        return {"rules": len(self.engine_.rules)}

    def _fit(self, urls: list[str], clusters: list[int], referrers: list[str | None]) -> None:
        rules: list[AnyRule] = []
        maps: dict[str, UrlMap] = {}
        with _no_collection():
            for host, places in sorted(places_by_host(urls).items()):
                its_clusters = [clusters[place] for place in places]
                found, maps[host] = self._mined(host, [urls[place] for place in places], its_clusters)
                rules += found
        self.engine_ = RuleEngine(rules, maps)

    def _form(self, url: str, referrer: Referrer | None) -> str:
        return self.engine_.form(url)

    def _fired(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, ...]:
        return self.engine_.fired(url, form)

    def _known_rules(self) -> Mapping[str, KnownRule]:
        return known_rules(self.hosts, self.engine_)

    def _without(self, identifiers: Collection[str]) -> Canonicalizer:
        left = copy.copy(self)
        left.engine_ = self.engine_.without(identifiers)
        return left

    def _explain(self, url: str, form: str) -> Explanation:
        _, fired = self.engine_.trace(url)
        if not fired:
            reason = "no rule changes it" if form == url else "no rule changes it; the query is sorted"
            return Explanation(url, form, f"{reason} ({len(self.engine_.rules)} rules were learnt)")
        said = [f"rule {number + 1}: {sentence_of(self.engine_.rules[number])}" for number in fired]
        return Explanation(url, form, "; then ".join(said), {"rules": _evidence(self.engine_.rules, fired)})

    def _tables(self) -> dict[str, Any]:
        return {_FILE: rules_to_json(self.engine_.rules)}

    def _restore(self, files: ModelFiles) -> None:
        self.engine_ = RuleEngine(rules_from_json(files.table(_FILE)), self._restored_maps(files))

    def _restored_maps(self, files: ModelFiles) -> Mapping[str, UrlMap]:
        """Host -> map that reads its URLs, if it is not the usual one."""
        return {}


class MapRuleBased(RuleBased):
    """A miner that reads URLs as maps of keys to values."""

    @abstractmethod
    def _mine(self, crawl: MappedCrawl) -> list[Rule]:
        """Rules of one host, counted on its crawl."""

    def _mined(self, host: str, urls: Sequence[str], clusters: Sequence[int]) -> tuple[Sequence[AnyRule], UrlMap]:
        crawl = MappedCrawl(host, urls, clusters)
        return self._mine(crawl), crawl.url_map


class DeepRuleBased(MapRuleBased):
    """A miner that cuts values at the delimiters of the site; its rules use the pieces (``deep_keys.json``)."""

    def _mined(self, host: str, urls: Sequence[str], clusters: Sequence[int]) -> tuple[Sequence[AnyRule], UrlMap]:
        url_map = UrlMap(learn_cuts(MappedCrawl(host, urls, clusters).maps))
        found = self._mine(MappedCrawl(host, urls, clusters, url_map))
        return found, url_map.needed_by({key for rule in found for key in rule.spoken()})

    def _tables(self) -> dict[str, Any]:
        cuts = {host: url_map.to_json() for host, url_map in self.engine_.maps.items()}
        return {**super()._tables(), _CUTS_FILE: cuts}

    def _restored_maps(self, files: ModelFiles) -> Mapping[str, UrlMap]:
        return {host: UrlMap.from_json(cuts) for host, cuts in files.table(_CUTS_FILE).table().items()}


@contextmanager
def _no_collection() -> Iterator[None]:
    """Switch the garbage collector off: it would search millions of values for cycles, and they have none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _evidence(rules: Sequence[AnyRule], fired: Sequence[int]) -> list[dict[str, Any]]:
    return [{"rule": number + 1, **rules_to_json([rules[number]])[0]["statistics"]} for number in fired]
