"""The model of a spec, written instead of learnt: its right and wrong rules for each family."""

from __future__ import annotations

from pathlib import Path

from dedup_crawler.methods import make_method
from dedup_crawler.methods.verified import Verified
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.applying.new_words import NewWords
from dedup_crawler.rules.language.identifiers import rule_identifier, site_identifier
from dedup_crawler.rules.language.matchers import ANY, Literal
from dedup_crawler.rules.language.operations import Drop, Operation, Star
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.language.site_rules import CoverageRule, HostLinks, Shapes
from dedup_crawler.rules.language.statistics import MergeEvidence, RuleStatistics

from .site import Site
from .spec import COVERED, DEFAULT, ONE_FORM, QUERY, SESSION, SLUG, TRACKING

_EVIDENCE = MergeEvidence(40, 0)
_TAKEN: dict[str, tuple[str, Operation]] = {
    QUERY: ("query[v]", Drop()),
    SESSION: ("query[sid]", Drop()),
    DEFAULT: ("query[page]", Drop()),
    TRACKING: ("query[utm]", Drop()),
    SLUG: ("path[2]", Star()),
    ONE_FORM: ("path[1]", Star()),
}
"""Kind of a family -> the part of the URL that the model drops."""


def save_model(site: Site, host: str, folder: Path) -> Path:
    """Save a ``verified`` model with one rule for each family that has one."""
    model = make_method("verified").fit([f"http://{host}/"], [0])
    assert isinstance(model, Verified)
    shapes = _shapes(site)
    believed = _believed(site, host, shapes)
    covered = {rule.shape: rule for rule in believed.values() if isinstance(rule, CoverageRule)}
    model.links_ = {host: HostLinks(frozenset({"v", "id", "sid", "page", "utm"}), False, shapes, {}, covered)}
    rules = [rule for rule in believed.values() if isinstance(rule, Rule)]
    model.engine_ = RuleEngine(rules)
    model.new_words_ = NewWords(model.engine_, {})
    model.quality_ = model._quality()
    return model.save(folder)


def rule_names(site: Site, host: str) -> dict[int, str]:
    """Return place of a family -> rule identifier of its evidence."""
    return {
        number: rule_identifier(rule) if isinstance(rule, Rule) else site_identifier(host, rule)
        for number, rule in _believed(site, host, _shapes(site)).items()
    }


def _believed(site: Site, host: str, shapes: Shapes) -> dict[int, Rule | CoverageRule]:
    """Return place of a family -> rule of the model."""
    believed: dict[int, Rule | CoverageRule] = {}
    for number, family in enumerate(site.spec.families):
        if family.kind == COVERED:
            believed[number] = CoverageRule(shapes.of(f"http://{host}{site.path(number, 0, 1)}"), _EVIDENCE, 40)
        elif family.kind in _TAKEN:
            key, operation = _TAKEN[family.kind]
            name = Literal(_name(site.path(number, 0, 0)))
            context = {"path[0]": name, key: Literal("1") if family.kind == DEFAULT else ANY}
            statistics = RuleStatistics(80, 40, 0, _EVIDENCE)
            believed[number] = Rule(host, context, {key: operation}, origin="verified", statistics=statistics)
    return believed


def _shapes(site: Site) -> Shapes:
    return Shapes({"path[0]": frozenset(map(_name, site.answers)), "path.length": frozenset("0123")})


def _name(path: str) -> str:
    """Return the first part of a path."""
    return path.lstrip("/").partition("/")[0].partition("?")[0]
