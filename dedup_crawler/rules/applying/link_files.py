"""Link rules of one host, by what they are looked up by, and as JSON that a person can read (``links.json``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.language.site_rules import CoverageRule, ReferrerRule
from dedup_crawler.rules.language.statistics import read_evidence
from dedup_crawler.rules.language.url_shapes import Shape, Shapes
from dedup_crawler.urls.keyvalue import is_sorted


@dataclass(frozen=True)
class HostLinks:
    """Rules about the links of one host."""

    query_keys: frozenset[str]
    """Names in the query that were seen often enough to say anything about URLs that have them."""
    is_ordered: bool
    """True if the order of the query matters: a URL whose query is not sorted is left alone then."""
    shapes: Shapes
    referrer_rules: Mapping[tuple[Shape, Shape], ReferrerRule]
    coverage_rules: Mapping[Shape, CoverageRule]

    def rules(self) -> list[ReferrerRule | CoverageRule]:
        """All of them."""
        return [*self.referrer_rules.values(), *self.coverage_rules.values()]

    def is_out_of_order(self, url: str) -> bool:
        """Return True if the order of a URL's query matters, and is not that of the forms."""
        return self.is_ordered and "&" in url and not is_sorted(url)

    def referrer_rule_of(self, url: str, referrer: str) -> ReferrerRule | None:
        """The rule that says that a link on a page leads to that page."""
        return self.referrer_rules.get((self.shapes.of(referrer), self.shapes.of(url)))

    def may_lead_back(self, url: str) -> bool:
        """Return True if there are pages on which a link leads to the page itself."""
        return bool(self.referrer_rules) and self.shapes.of(url) in self._shapes_back

    @cached_property
    def _shapes_back(self) -> frozenset[Shape]:
        return frozenset(link for _, link in self.referrer_rules)

    def coverage_of(self, url: str) -> CoverageRule | None:
        """The rule that says that all that a URL can show is reached under other shapes."""
        return self.coverage_rules.get(self.shapes.of(url)) if self.coverage_rules else None


NO_LINKS = HostLinks(frozenset(), False, Shapes({}), {}, {})
"""Links of a host of which nothing was learnt."""


def links_to_json(links: HostLinks) -> dict[str, Any]:
    """Return links as JSON values."""
    return {
        "query_keys": sorted(links.query_keys),
        "is_ordered": links.is_ordered,
        "literals": links.shapes.to_json(),
        "referrer_rules": [
            {"referrer": dict(rule.referrer), "link": dict(rule.shape), **_counts(rule)}
            for rule in links.referrer_rules.values()
        ],
        "coverage_rules": [{"link": dict(rule.shape), **_counts(rule)} for rule in links.coverage_rules.values()],
    }


def links_from_json(value: JsonValue) -> HostLinks:
    """Read what :func:`links_to_json` wrote.

    Raises
    ------
    BadInputError
        If it cannot be read.
    """
    referrer_rules = [
        ReferrerRule(
            _shape(entry["referrer"]), _shape(entry["link"]), read_evidence(entry, "pages"), entry["urls"].count()
        )
        for entry in value["referrer_rules"].values()
    ]
    coverage_rules = [
        CoverageRule(_shape(entry["link"]), read_evidence(entry, "pages"), entry["urls"].count())
        for entry in value["coverage_rules"].values()
    ]
    return HostLinks(
        frozenset(value["query_keys"].texts()),
        value["is_ordered"].flag(),
        Shapes.from_json(value["literals"]),
        {(rule.referrer, rule.shape): rule for rule in referrer_rules},
        {rule.shape: rule for rule in coverage_rules},
    )


def _counts(rule: ReferrerRule | CoverageRule) -> dict[str, int]:
    return {"pages": rule.evidence.n_groups, "wrong": rule.evidence.n_wrong, "urls": rule.n_urls}


def _shape(value: JsonValue) -> Shape:
    return tuple(sorted((key, said.text()) for key, said in value.table().items()))
