"""The common part of all miners: they make the rules of each host, and the rule engine applies them."""

from __future__ import annotations

import copy
import gc
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

from dedup_crawler.methods.base import Canonicalizer
from dedup_crawler.methods.model.explanations import Explanation, KnownRule, Referrer, known_rules
from dedup_crawler.methods.model.folder import ModelFiles
from dedup_crawler.methods.model.training_data import TrainingData
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
    _cuts_values: ClassVar[bool] = False
    """True if rules use pieces of values, cut at the delimiters of the site (``deep_keys.json``)."""

    @abstractmethod
    def _mined(self, host: str, urls: Sequence[str], clusters: Sequence[int]) -> tuple[Sequence[AnyRule], UrlMap]:
        """Rules of one host, and the map that reads its URLs."""

    def model_rules(self) -> ModelRules:
        """The rules for export."""
        return ModelRules(self.engine_.rules, self.engine_.maps)

    def proposed_forms(self, host: str) -> Callable[[str], str] | None:
        """The forms, if the rules of *host* use pieces of values, which rules of `verified` cannot."""
        return self.engine_.form if host in self.engine_.maps and self.engine_.maps[host].cuts else None

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

    def _fit(self, crawl: TrainingData) -> None:
        rules: list[AnyRule] = []
        maps: dict[str, UrlMap] = {}
        was_enabled = gc.isenabled()
        gc.disable()  # it would search millions of values for cycles, and they have none
        try:
            for host, places in sorted(places_by_host(crawl.urls).items()):
                its = crawl.rows(places)
                found, maps[host] = self._mined(host, its.urls, its.clusters)
                rules += found
        finally:
            if was_enabled:
                gc.enable()
        self.engine_ = RuleEngine(rules, maps)

    def form_of(self, url: str, referrer: Referrer | None = None) -> str:
        """Form that the rules give to a URL in normal form."""
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
        counted = rules_to_json([self.engine_.rules[number] for number in fired])
        evidence = [{"rule": number + 1, **rule["statistics"]} for number, rule in zip(fired, counted, strict=True)]
        return Explanation(url, form, "; then ".join(said), {"rules": evidence})

    def _tables(self) -> dict[str, Any]:
        cuts = {host: url_map.to_json() for host, url_map in self.engine_.maps.items()}
        return {_FILE: rules_to_json(self.engine_.rules), **({_CUTS_FILE: cuts} if self._cuts_values else {})}

    def _restore(self, files: ModelFiles) -> None:
        cuts = files.table(_CUTS_FILE).table() if self._cuts_values else {}
        maps = {host: UrlMap.from_json(its_cuts) for host, its_cuts in cuts.items()}
        self.engine_ = RuleEngine(rules_from_json(files.table(_FILE)), maps)


class MapRuleBased(RuleBased):
    """A miner that reads URLs as maps of keys to values."""

    @abstractmethod
    def _mine(self, crawl: MappedCrawl) -> list[Rule]:
        """Rules of one host, counted on its crawl."""

    def _mined(self, host: str, urls: Sequence[str], clusters: Sequence[int]) -> tuple[Sequence[AnyRule], UrlMap]:
        crawl = MappedCrawl(host, urls, clusters)
        if not self._cuts_values:
            return self._mine(crawl), crawl.url_map
        url_map = UrlMap(learn_cuts(crawl.maps))
        found = self._mine(MappedCrawl(host, urls, clusters, url_map))
        return found, url_map.needed_by({key for rule in found for key in rule.spoken()})
