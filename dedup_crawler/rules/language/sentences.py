"""Rules as English sentences with their evidence, for a person who decides whether to trust them.

A model also keeps the refused hypotheses with most support, so that a person can see why they are no rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.language.matchers import ANY, Matcher, NoneOf, OfClass, OneOf, few_values
from dedup_crawler.rules.language.operations import (
    Copy,
    Cut,
    Drop,
    Lowercase,
    Operation,
    Set,
    Shorten,
    Spaces,
    Star,
    Unordered,
)
from dedup_crawler.rules.language.rule import AnyRule, Rule, SubstringRule
from dedup_crawler.rules.language.site_rules import CoverageRule, ReferrerRule, SiteRule, shape_text
from dedup_crawler.urls.site_grammar import spoken_name

_SHOWN_VALUES = 4
MAX_REFUSALS = 30
"""Most refused hypotheses that one model keeps."""
_MAX_LENGTH = 2_000  # characters of a sentence in a file
_LONG = re.compile(r"([^\s/?&=]{50})[^\s/?&=]{11,}")


class Refusal(NamedTuple):
    """A hypothesis that was tested and is not believed."""

    sentence: str
    """Sentence of the rule, with its counts."""
    reason: str
    n_groups: int
    n_wrong: int


def sentence_of(rule: AnyRule | SiteRule) -> str:
    """Sentence of a rule of any kind: its transformation, its context and its evidence. Long values are cut.

    >>> from dedup_crawler.rules.language.matchers import Literal
    >>> from dedup_crawler.rules.language.statistics import MergeEvidence, RuleStatistics
    >>> counts = RuleStatistics(900, 900, 0, MergeEvidence(412, 0))
    >>> where = {"path[0]": Literal("viewtopic"), "query[sid]": ANY}
    >>> sentence_of(Rule("forum.example", where, {"query[sid]": Drop()}, statistics=counts))
    'drop `sid` where path part 1 is viewtopic: 412 groups, 0 contradictions, at most 0.5 % wrong (95 %)'
    """
    says, unit = _said(rule)
    says = _LONG.sub(r"\1...", says)
    bound = f"{rule.evidence.error_bound():.1%}".replace("%", " %")
    counts = f"{rule.evidence.n_groups} {unit}, {rule.evidence.n_wrong} contradictions"
    return f"{says}: {counts}, at most {bound} wrong (95 %)"


def refusals_of(refused: Iterable[tuple[AnyRule | SiteRule, str]]) -> list[Refusal]:
    """Choose the rules with most right merge groups, each sentence once, at most :data:`MAX_REFUSALS`.

    *refused* are the rules and the reasons. Hypotheses that are mostly wrong are left out.
    """
    said: dict[str, Refusal] = {}
    found = [(rule.evidence, rule, why) for rule, why in refused if 2 * rule.evidence.n_wrong < rule.evidence.n_groups]
    for evidence, rule, reason in sorted(found, key=lambda each: each[0].n_wrong - each[0].n_groups):
        if len(said) == MAX_REFUSALS:
            break
        sentence = sentence_of(rule)
        said.setdefault(sentence, Refusal(sentence, reason, evidence.n_groups, evidence.n_wrong))
    return list(said.values())


def refusals_to_json(refusals: Sequence[Refusal]) -> list[dict[str, Any]]:
    """Return refusals as JSON values."""
    return [
        {"rule": each.sentence, "reason": each.reason, "groups": each.n_groups, "wrong": each.n_wrong}
        for each in refusals
    ]


def refusals_from_json(value: JsonValue) -> list[Refusal]:
    """Read the result of :func:`refusals_to_json`; BadInputError if *value* is not one."""
    return [
        Refusal(
            entry["rule"].text()[:_MAX_LENGTH],
            entry["reason"].text()[:_MAX_LENGTH],
            entry["groups"].count(),
            entry["wrong"].count(),
        )
        for entry in value.values(MAX_REFUSALS)
    ]


def _said(rule: AnyRule | SiteRule) -> tuple[str, str]:
    """Return a sentence for the rule, and the unit of its evidence."""
    if isinstance(rule, SubstringRule):
        return str(rule).partition(": ")[2], "groups"
    if isinstance(rule, Rule):
        does = _listed(_all_done(sorted(_told_operations(rule).items())), n_shown=9)
        return f"{does}{_place(rule)}", "groups"
    if isinstance(rule, ReferrerRule):
        says = f"a link to {shape_text(rule.shape)} on {shape_text(rule.referrer)} leads back to that page"
        unless = f" (unless it links URLs with {spoken_name(rule.unless)})" if rule.unless else ""
        return f"{says}{unless}", "pages with such links"
    if isinstance(rule, CoverageRule):
        return f"{shape_text(rule.shape)} shows only pages that other URLs show", "pages"
    return f"host {rule.host} shows the pages of {rule.target}", "pages met on both"


def _told_operations(rule: Rule) -> Mapping[str, Operation]:
    """Operations of a rule, without the new path length if the rule drops the last path part: that is implied."""
    changed = rule.transformation
    length = changed.get("path.length")
    if isinstance(length, Set) and isinstance(changed.get(f"path[{length.value}]"), Drop):
        return {key: operation for key, operation in changed.items() if key != "path.length"}
    return changed


def _all_done(operations: Sequence[tuple[str, Operation]]) -> list[str]:
    """Return words for each operation, and for all keys together whose letter case is ignored."""
    caseless = [_name(key) for key, operation in operations if isinstance(operation, Lowercase)]
    done = [_done(key, operation) for key, operation in operations if not isinstance(operation, Lowercase)]
    return [*done, f"ignore the letter case of {_listed(caseless)}"] if caseless else done


def _done(key: str, operation: Operation) -> str:
    name = _name(key)
    if isinstance(operation, Drop):
        return f"drop {name}"
    if isinstance(operation, Star):
        return f"ignore the value of {name}"
    if isinstance(operation, Set):
        return f"set {name} to {_value(operation.value)}"
    if isinstance(operation, Copy):
        return f"set {name} to the value of {_name(operation.key)}"
    if isinstance(operation, Cut):
        side = "up to" if operation.keeps_head else "after"
        return f"keep {name} {side} the {'last' if operation.is_last else 'first'} '{operation.delimiter}'"
    if isinstance(operation, Unordered):
        return f"ignore the order{' and repetition' * operation.is_set} of the values of {name}"
    if isinstance(operation, Shorten):
        return f"keep the first {operation.length} digits of a hash in {name}"
    if isinstance(operation, Spaces):
        if not operation.new:
            return f"drop '{operation.old}' at both ends of {name}"
        return f"write '{operation.old}' in {name} as '{operation.new}'"
    return f"ignore the letter case of {name}"


def _place(rule: Rule) -> str:
    """Words for the context of a rule, to stand behind those for its transformation."""
    where, unless = [], []
    for key, matcher in sorted(rule.context.items()):
        if isinstance(matcher, NoneOf):
            unless.append(_condition(key, OneOf(matcher.values)))
            if not _is_implied(key, rule):
                where.append(_condition(key, ANY))
        elif (matcher != ANY and key != "slash") or key not in rule.transformation:
            where.append(_condition(key, matcher))
    for key in sorted(rule.absent):
        if key == "slash":
            where.append("the path does not end with a slash")
        elif not (key.endswith("#2") and key[:-2] in rule.transformation):
            where.append(f"{_name(key)} is missing")
    place = f" where {_listed(where)}" if where else "" if unless else " anywhere"
    return f"{place} (unless {', or '.join(unless)})" if unless else place


def _is_implied(key: str, rule: Rule) -> bool:
    """Return True if every URL that a rule changes has *key*: the rule changes the key or needs a later path part."""
    named = {*rule.transformation, *rule.context}
    later = (other for other in named if other.startswith("path[") and (len(key), key) < (len(other), other))
    return key == "path.length" or key in rule.transformation or (key.startswith("path[") and any(later))


def _condition(key: str, matcher: Matcher) -> str:
    name = _name(key)
    if isinstance(matcher, OfClass):
        return f"{name} is {'present' if matcher == ANY else matcher.name}"
    values = few_values(matcher) or []
    if key == "slash" and values == ["/"]:
        return "the path ends with a slash"
    if key == "path.length":
        return f"the path has {_listed([_value(value) for value in values], 'or')} part{'s' * (values != ['1'])}"
    return f"{name} is {_listed([_value(value) for value in values], 'or')}"


def _name(key: str) -> str:
    whole, _, piece = key.rpartition("@")
    if piece.isdigit() and whole:
        return f"piece {int(piece) + 1} of {_name(whole)}"
    if key.startswith("query["):
        name, _, number = key[6:].rpartition("]")
        ordinal = {"": "", "#2": "the second ", "#3": "the third "}.get(number, f"the {number[1:]}th ")
        if not name:
            return f"{ordinal or 'the '}empty parameter"
        return f"{ordinal}{spoken_name(name)}"
    if key.startswith("path["):
        return f"path part {int(key[5:-1]) + 1}"
    return {"path.length": "the number of path parts", "slash": "the trailing slash", "ext": "the extension"}.get(
        key, f"the {key}"
    )


def _value(value: str | None) -> str:
    return "empty" if value == "" else "bare" if value is None else value


def _listed(parts: list[str], last: str = "and", n_shown: int = _SHOWN_VALUES) -> str:
    if len(parts) > n_shown + 1:
        parts = [*parts[:n_shown], f"{len(parts) - n_shown} more"]
    return f" {last} ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
