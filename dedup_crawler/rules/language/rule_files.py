"""Rules as JSON that a person can read and write.

``rules.json`` is a list of rules such as this one::

    {"host": "forum.example",
     "context": {"path[0]": {"literal": "topic"}, "query[t]": {"class": "digits"}, "query[page]": {"in": ["0", "1"]}},
     "absent": ["query[print]"],
     "transformation": {"query[sid]": "drop", "query[page]": {"set": "1"}, "path[1]": {"copy": "query[t]"},
                        "path[2]": {"before": ["first", "-"]}, "path[3]": {"shorten": 10}, "path[4]": "lowercase",
                        "query[f]": {"unordered": "set"}, "query[q]": {"spaces": ["+", "_"]}},
     "origin": "pattern-tree",
     "statistics": {"urls": 120, "support_pairs": 340, "false_pairs": 0, "groups": 60, "wrong": 0}}

Only host and transformation are required. ``null`` is the value of a query key without ``=``. A substring rule has a
``substring`` in place of context, absent and transformation; ``at`` lists none, one or both of ``start`` and ``end``,
``sections`` the first path parts of its URLs, if these are not all::

    {"host": "news.example", "substring": {"old": "story?id=", "new": "story_", "at": []}}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dedup_crawler.errors import BadInputError, did_you_mean
from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.language.matchers import ANY, CLASSES, Literal, Matcher, NoneOf, OfClass, OneOf, sorted_values
from dedup_crawler.rules.language.operations import (
    MAX_HASH,
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
from dedup_crawler.rules.language.statistics import NO_STATISTICS, MergeEvidence, RuleStatistics

_PARTS = ("host", "context", "absent", "transformation", "origin", "statistics")
_SUBSTRING_PARTS = ("host", "substring", "origin", "statistics")
_ENDS = ("start", "end")
_COUNTS = ("urls", "support_pairs", "false_pairs", "groups", "wrong")
_MATCHERS = ("literal", "in", "not_in", "class")
_OPERATIONS = ("set", "copy", "before", "behind", "unordered", "shorten", "spaces")
_PLAIN_OPERATIONS: Mapping[str, type[Drop | Star | Lowercase]] = {"drop": Drop, "star": Star, "lowercase": Lowercase}
_PLACES = ("first", "last")
_KINDS = ("bag", "set")


def rules_to_json(rules: Iterable[AnyRule]) -> list[dict[str, Any]]:
    """Write rules as JSON values."""
    return list(map(rule_to_json, rules))


def rules_from_json(value: JsonValue) -> list[AnyRule]:
    """Read rules that :func:`rules_to_json` or a person wrote.

    BadInputError if a rule cannot be read; the text names the file, the number of the rule and the unknown word.
    """
    return list(map(_rule_from_json, value.values()))


def rule_to_json(rule: AnyRule) -> dict[str, Any]:
    """Write one rule as a JSON value."""
    counted = rule.statistics
    counts = counted.n_urls, counted.n_support_pairs, counted.n_false_pairs
    said: dict[str, Any]
    if isinstance(rule, SubstringRule):
        ends = [end for end, is_at in zip(_ENDS, (rule.at_start, rule.at_end), strict=True) if is_at]
        within = {"sections": sorted(rule.sections)} if rule.sections else {}
        said = {"substring": {"old": rule.old, "new": rule.new, "at": ends, **within}}
    else:
        said = {
            "context": {key: _matcher_to_json(matcher) for key, matcher in sorted(rule.context.items())},
            "absent": sorted(rule.absent),
            "transformation": {key: _operation_to_json(done) for key, done in sorted(rule.transformation.items())},
        }
    statistics = dict(zip(_COUNTS, (*counts, rule.evidence.n_groups, rule.evidence.n_wrong), strict=True))
    return {"host": rule.host, **said, "origin": rule.origin, "statistics": statistics}


def _matcher_to_json(matcher: Matcher) -> dict[str, Any]:
    if isinstance(matcher, Literal):
        return {"literal": matcher.value}
    if isinstance(matcher, OfClass):
        return {"class": matcher.name}
    return {"in" if isinstance(matcher, OneOf) else "not_in": sorted_values(matcher.values)}


def _operation_to_json(operation: Operation) -> str | dict[str, Any]:
    if isinstance(operation, Set):
        return {"set": operation.value}
    if isinstance(operation, Copy):
        return {"copy": operation.key}
    if isinstance(operation, Cut):
        kept = "before" if operation.keeps_head else "behind"
        return {kept: [_PLACES[operation.is_last], operation.delimiter]}
    if isinstance(operation, Unordered):
        return {"unordered": _KINDS[operation.is_set]}
    if isinstance(operation, Shorten):
        return {"shorten": operation.length}
    if isinstance(operation, Spaces):
        return {"spaces": [operation.old, operation.new]}
    return next(word for word, kind in _PLAIN_OPERATIONS.items() if isinstance(operation, kind))


def _rule_from_json(entry: JsonValue) -> AnyRule:
    said = entry.table()
    _check_words(entry, _SUBSTRING_PARTS if "substring" in said else _PARTS)
    host = entry["host"].text().lower()
    origin = said["origin"].text() if "origin" in said else ""
    statistics = _statistics(said["statistics"]) if "statistics" in said else NO_STATISTICS
    try:
        if "substring" in said:
            return _substring_rule(host, entry["substring"], origin, statistics)
        context = said["context"].table() if "context" in said else {}
        transformation = entry["transformation"].table()
        if not transformation:
            entry["transformation"].refuse("a change")
        return Rule(
            host,
            {key: _matcher(value) for key, value in context.items()},
            {key: _operation(value) for key, value in transformation.items()},
            frozenset(said["absent"].texts() if "absent" in said else ()),
            origin,
            statistics,
        )
    except BadInputError as error:
        text = str(error)
        raise error if text.startswith(entry.place) else BadInputError(f"{entry.place}: {text}.") from None


def _substring_rule(host: str, said: JsonValue, origin: str, statistics: RuleStatistics) -> SubstringRule:
    _check_words(said, ("old", "new", "at", "sections"))
    ends = {_known(end, _ENDS) for end in said["at"].values()} if "at" in said else set()
    return SubstringRule(
        host=host,
        old=said["old"].text(),
        new=said["new"].text() if "new" in said else "",
        at_start="start" in ends,
        at_end="end" in ends,
        sections=frozenset(said["sections"].texts()) if "sections" in said else frozenset(),
        origin=origin,
        statistics=statistics,
    )


def _matcher(said: JsonValue) -> Matcher:
    word, value = _single(said, _MATCHERS)
    if word == "literal":
        return Literal(_text(value))
    if word == "class":
        return ANY if value.raw == "any" else OfClass(_known(value, CLASSES))
    values = frozenset(map(_text, value.values()))
    if not values:
        value.refuse("at least one value")
    return OneOf(values) if word == "in" else NoneOf(values)


def _operation(said: JsonValue) -> Operation:
    if isinstance(said.raw, str):
        return _PLAIN_OPERATIONS[_known(said, tuple(_PLAIN_OPERATIONS))]()
    word, value = _single(said, _OPERATIONS)
    if word == "set":
        return Set(_text(value))
    if word == "copy":
        return Copy(value.text())
    if word == "shorten":
        return Shorten(value.count(MAX_HASH))
    if word == "spaces":
        spaces = value.texts()
        return Spaces(*spaces) if len(spaces) == 2 else value.refuse("two ways to write spaces")
    if word == "unordered":
        return Unordered(is_set=_known(value, _KINDS) == "set")
    cut = value.values()
    if len(cut) != 2:
        value.refuse("a place and a delimiter")
    return Cut(cut[1].text(), is_last=_known(cut[0], _PLACES) == "last", keeps_head=word == "before")


def _statistics(said: JsonValue) -> RuleStatistics:
    _check_words(said, _COUNTS)
    counts = said.table()
    n_urls, n_pairs, n_false, groups, wrong = (counts[name].count() if name in counts else 0 for name in _COUNTS)
    if wrong > groups:
        said.refuse(f"at most {groups} wrong groups")
    return RuleStatistics(n_urls, n_pairs, n_false, MergeEvidence(groups, wrong))


def _single(said: JsonValue, known: Sequence[str]) -> tuple[str, JsonValue]:
    table = said.table()
    if len(table) != 1:
        said.refuse(f"one of {', '.join(known)}, with its value")
    _check_words(said, known)
    return next(iter(table.items()))


def _check_words(said: JsonValue, known: Sequence[str]) -> None:
    for word in said.table():
        _known(JsonValue(word, said.place), known)


def _known(said: JsonValue, known: Sequence[str]) -> str:
    word = said.text()
    if word not in known:
        raise BadInputError(
            f"{said.place}: unknown word {word[:60]!r}; known: {', '.join(known)}.{did_you_mean(word, known)}"
        )
    return word


def _text(said: JsonValue) -> str | None:
    return None if said.raw is None else said.text()
