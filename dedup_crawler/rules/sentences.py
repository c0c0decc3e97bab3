"""Rules as sentences with their evidence, for a person who has to decide whether to trust them."""

from __future__ import annotations

from collections.abc import Iterable

from dedup_crawler.rules.error_bound import jeffreys_bound
from dedup_crawler.rules.host_aliases import HostAlias
from dedup_crawler.rules.judge import MergeEvidence
from dedup_crawler.rules.link_rules import CoverageRule, ReferrerRule
from dedup_crawler.rules.refusals import MAX_REFUSALS, Refusal, Refused, best_of
from dedup_crawler.rules.rule import ANY, Copy, Cut, Drop, Literal, Matcher, NoneOf, OneOf, Operation, Set, Star
from dedup_crawler.rules.substring_rule import AnyRule, SubstringRule
from dedup_crawler.rules.url_shapes import written
from dedup_crawler.urls.site_grammar import spoken_name

_SHOWN_VALUES = 4


def sentence_of(rule: AnyRule | ReferrerRule | CoverageRule | HostAlias) -> str:
    """What a rule of any kind says, with its evidence."""
    if isinstance(rule, ReferrerRule):
        return referrer_sentence(rule)
    if isinstance(rule, CoverageRule):
        return coverage_sentence(rule)
    return alias_sentence(rule) if isinstance(rule, HostAlias) else rule_sentence(rule)


def rule_sentence(rule: AnyRule) -> str:
    """What a rule does, where, and what speaks for it.

    >>> from dedup_crawler.rules.rule import Rule
    >>> from dedup_crawler.rules.statistics import RuleStatistics
    >>> counts = RuleStatistics(900, 900, 0, MergeEvidence(412, 0))
    >>> where = {"path[0]": Literal("viewtopic"), "query[sid]": ANY}
    >>> rule_sentence(Rule("forum.example", where, {"query[sid]": Drop()}, statistics=counts))
    'drop `sid` where path part 1 is viewtopic: 412 groups, 0 contradictions, at most 0.5 % wrong (95 %)'
    """
    if isinstance(rule, SubstringRule):
        return f"{str(rule).partition(': ')[2]}: {evidence_sentence(rule.statistics.evidence, 'groups')}"
    does = ", ".join(_done(key, operation) for key, operation in sorted(rule.transformation.items()))
    where = [
        _condition(key, matcher)
        for key, matcher in sorted(rule.context.items())
        if matcher != ANY or key not in rule.transformation
    ]
    missing = [key for key in sorted(rule.absent) if not _is_repeat(key, rule.transformation)]
    where += [f"there is no {_name(key).removeprefix('a ').removeprefix('the ')}" for key in missing]
    place = f" where {_listed(where)}" if where else " anywhere"
    return f"{does}{place}: {evidence_sentence(rule.statistics.evidence, 'groups')}"


def referrer_sentence(rule: ReferrerRule) -> str:
    """What a referrer rule says."""
    evidence = evidence_sentence(rule.evidence, "pages with such links")
    return f"{written(rule.shape)} linked from {written(rule.referrer)} is that page again: {evidence}"


def coverage_sentence(rule: CoverageRule) -> str:
    """What a coverage rule says."""
    evidence = evidence_sentence(rule.evidence, "pages")
    return f"{written(rule.shape)} shows nothing that is not reached otherwise: {evidence}"


def alias_sentence(alias: HostAlias) -> str:
    """What a host alias says."""
    evidence = evidence_sentence(alias.evidence, "pages met on both")
    return f"the host {alias.host} is {alias.target}: {evidence}"


def evidence_sentence(evidence: MergeEvidence, unit: str) -> str:
    """Counts, and the upper bound of what may be wrong."""
    bound = jeffreys_bound(evidence.n_groups, evidence.n_wrong)
    return f"{evidence.n_groups} {unit}, {evidence.n_wrong} contradictions, at most {bound:.1%} wrong (95 %)".replace(
        "% wrong", " % wrong"
    )


def refusals_of(refused: Iterable[Refused]) -> list[Refusal]:
    """The best supported of the refused hypotheses, each sentence once, at most :data:`MAX_REFUSALS`."""
    said: dict[str, Refusal] = {}
    for each in best_of(refused):
        if len(said) == MAX_REFUSALS:
            break
        sentence = sentence_of(each.rule)
        said.setdefault(sentence, Refusal(sentence, each.reason, each.evidence.n_groups, each.evidence.n_wrong))
    return list(said.values())


def _done(key: str, operation: Operation) -> str:
    name = _name(key)
    if isinstance(operation, Drop):
        return f"drop {name}"
    if isinstance(operation, Star):
        return f"ignore {name}"
    if isinstance(operation, Set):
        return f"write {name} as {operation.value}"
    if isinstance(operation, Copy):
        return f"write {name} as {_name(operation.key)}"
    if isinstance(operation, Cut):
        where = "before" if operation.keeps_head else "behind"
        place = "last" if operation.is_last else "first"
        return f"keep of {name} what stands {where} the {place} {operation.delimiter}"
    return f"take the values of {name} as a {'set' if operation.is_set else 'bag'}"


def _condition(key: str, matcher: Matcher) -> str:
    name = _name(key)
    if isinstance(matcher, Literal):
        return f"{name} is {_value(matcher.value)}"
    if isinstance(matcher, OneOf):
        return f"{name} is {_listed([_value(value) for value in _sorted(matcher.values)], 'or')}"
    if isinstance(matcher, NoneOf):
        there = "is" if key == "path.length" else "is there and"
        return f"{name} {there} not {_listed([_value(value) for value in _sorted(matcher.values)], 'or')}"
    return f"there is {name}" if matcher == ANY else f"{name} is {matcher.name}"


def _name(key: str) -> str:
    if key.startswith("query["):
        name, _, number = key[6:].rpartition("]")
        return spoken_name(name) if not number else f"a second {spoken_name(name)}"
    if key.startswith("path["):
        return f"path part {int(key[5:-1].partition(']')[0]) + 1}"
    return {"path.length": "the number of path parts", "slash": "the slash at the end", "ext": "the extension"}.get(
        key, f"the {key}"
    )


def _value(value: str | None) -> str:
    return "empty" if value == "" else "bare" if value is None else value


def _sorted(values: Iterable[str | None]) -> list[str | None]:
    return sorted(values, key=lambda value: (value is not None, value or ""))


def _listed(parts: list[str], last: str = "and") -> str:
    if len(parts) > _SHOWN_VALUES + 1:
        parts = [*parts[:_SHOWN_VALUES], f"{len(parts) - _SHOWN_VALUES} more"]
    return f" {last} ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]


def _is_repeat(key: str, transformation: Iterable[str]) -> bool:
    return key.endswith("#2") and key[:-2] in transformation
