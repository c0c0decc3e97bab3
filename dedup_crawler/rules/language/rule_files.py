"""Rules as JSON that a person can read and write: ``rules.json`` is a list of rules such as this one.

::

    {"host": "forum.example",
     "context": {"path[0]": {"literal": "topic"}, "query[t]": {"class": "digits"}, "query[page]": {"in": ["0", "1"]}},
     "absent": ["query[print]"],
     "transformation": {"query[sid]": "drop", "query[page]": {"set": "1"}, "path[1]": {"copy": "query[t]"},
                        "path[2]": {"before": ["first", "-"]}, "query[f]": {"unordered": "set"}},
     "origin": "pattern-tree",
     "statistics": {"urls": 120, "support_pairs": 340, "false_pairs": 0, "groups": 60, "wrong": 0}}

Host and transformation have to be there; a text ``null`` is the value of a query key without ``=``. A substring rule
has other parts between host and origin; ``at`` lists none, one or both of ``start`` and ``end``::

    {"host": "news.example", "substring": {"old": "story?id=", "new": "story_", "at": []}}
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dedup_crawler.errors import BadInputError, did_you_mean
from dedup_crawler.json_values import MAX_COUNT
from dedup_crawler.rules.language.rule import (
    ANY,
    CLASSES,
    Copy,
    Cut,
    Drop,
    Literal,
    Matcher,
    NoneOf,
    OfClass,
    OneOf,
    Operation,
    Rule,
    Set,
    Star,
    Unordered,
)
from dedup_crawler.rules.language.statistics import MergeEvidence, RuleStatistics
from dedup_crawler.rules.language.substring_rule import AnyRule, SubstringRule

_PARTS = ("host", "context", "absent", "transformation", "origin", "statistics")
_SUBSTRING_PARTS = ("host", "substring", "origin", "statistics")
_ENDS = ("start", "end")
_COUNTS = ("urls", "support_pairs", "false_pairs", "groups", "wrong")
_MATCHERS = ("literal", "in", "not_in", "class")
_OPERATIONS = ("set", "copy", "drop", "star", "before", "behind", "unordered")
_PLACES = ("first", "last")
_KINDS = ("bag", "set")


def rules_to_json(rules: Iterable[AnyRule]) -> list[dict[str, Any]]:
    """Write rules as JSON values."""
    return [_rule_to_json(rule) for rule in rules]


def rules_from_json(value: Any, file: str) -> list[AnyRule]:
    """Read what :func:`rules_to_json` wrote, or what somebody wrote by hand.

    Raises
    ------
    BadInputError
        If a rule cannot be read; the text names *file*, the number of the rule and the word that is not known.
    """
    if not isinstance(value, list):
        raise BadInputError(f"{file}: expected a list of rules, found {_kind(value)}.")
    return [_numbered_rule(entry, f"{file}, rule {number}") for number, entry in enumerate(value, start=1)]


def _numbered_rule(entry: Any, place: str) -> AnyRule:
    try:
        return _rule_from_json(entry)
    except BadInputError as error:
        raise BadInputError(f"{place}: {error}" + ("" if str(error)[-1] in ".?" else ".")) from None


def _rule_to_json(rule: AnyRule) -> dict[str, Any]:
    statistics = rule.statistics
    said: dict[str, Any]
    if isinstance(rule, SubstringRule):
        ends = [end for end, is_at in zip(_ENDS, (rule.at_start, rule.at_end), strict=True) if is_at]
        said = {"substring": {"old": rule.old, "new": rule.new, "at": ends}}
    else:
        said = {
            "context": {key: _matcher_to_json(matcher) for key, matcher in sorted(rule.context.items())},
            "absent": sorted(rule.absent),
            "transformation": {key: _operation_to_json(done) for key, done in sorted(rule.transformation.items())},
        }
    return {
        "host": rule.host,
        **said,
        "origin": rule.origin,
        "statistics": {
            "urls": statistics.n_urls,
            "support_pairs": statistics.n_support_pairs,
            "false_pairs": statistics.n_false_pairs,
            "groups": statistics.evidence.n_groups,
            "wrong": statistics.evidence.n_wrong,
        },
    }


def _matcher_to_json(matcher: Matcher) -> dict[str, Any]:
    if isinstance(matcher, Literal):
        return {"literal": matcher.value}
    if isinstance(matcher, (OneOf, NoneOf)):
        word = "in" if isinstance(matcher, OneOf) else "not_in"
        return {word: sorted(matcher.values, key=lambda value: (value is not None, value or ""))}
    return {"class": matcher.name}


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
    return "drop" if isinstance(operation, Drop) else "star"


def _rule_from_json(value: Any) -> AnyRule:
    entry = _table(value, "a rule")
    for part in entry:
        _known(part, _SUBSTRING_PARTS if "substring" in entry else _PARTS, "part")
    if not isinstance(entry.get("host"), str):
        raise BadInputError(f"'host' is {entry.get('host')!r}; give the host that the rule is for")
    if "substring" in entry:
        return _substring_rule(entry)
    absent = entry.get("absent", [])
    if not isinstance(absent, list) or not all(isinstance(key, str) for key in absent):
        raise BadInputError("'absent' has to be a list of keys")
    if entry.get("transformation") == {}:
        raise BadInputError("'transformation' is empty: a rule changes something")
    return Rule(
        host=entry["host"].lower(),
        context={key: _matcher(key, said) for key, said in _table(entry.get("context", {}), "'context'").items()},
        transformation={
            key: _operation(key, said) for key, said in _table(entry.get("transformation"), "'transformation'").items()
        },
        absent=frozenset(absent),
        origin=str(entry.get("origin", "")),
        statistics=_statistics(_table(entry.get("statistics", {}), "'statistics'")),
    )


def _substring_rule(entry: dict[str, Any]) -> SubstringRule:
    said = _table(entry["substring"], "'substring'")
    for part in said:
        _known(part, ("old", "new", "at"), "part")
    old, new, ends = said.get("old"), said.get("new", ""), said.get("at", [])
    if not isinstance(old, str) or not isinstance(new, str):
        raise BadInputError("'substring' needs the texts 'old' and 'new'")
    if not isinstance(ends, list):
        raise BadInputError("'at' has to be a list of 'start' and 'end'")
    known = {_known(end, _ENDS, "end") for end in ends}
    return SubstringRule(
        host=entry["host"].lower(),
        old=old,
        new=new,
        at_start="start" in known,
        at_end="end" in known,
        origin=str(entry.get("origin", "")),
        statistics=_statistics(_table(entry.get("statistics", {}), "'statistics'")),
    )


def _matcher(key: str, said: Any) -> Matcher:
    word, value = _single(key, said, _MATCHERS, "matcher")
    if word == "literal":
        return Literal(_text(key, value))
    if word == "class":
        return ANY if value == "any" else OfClass(_known(value, CLASSES, "class"))
    if not isinstance(value, list) or not value:
        raise BadInputError(f"{key}: {word!r} needs a list of values")
    values = frozenset(_text(key, one) for one in value)
    return OneOf(values) if word == "in" else NoneOf(values)


def _operation(key: str, said: Any) -> Operation:
    word, value = (said, None) if isinstance(said, str) else _single(key, said, _OPERATIONS, "transformation")
    _known(word, _OPERATIONS, "transformation")
    if word == "set" and not isinstance(said, str):
        return Set(_text(key, value))
    if word == "copy" and isinstance(value, str):
        return Copy(value)
    if word in ("before", "behind") and isinstance(value, list) and len(value) == 2:
        place, delimiter = value
        _known(place, _PLACES, "place")
        return Cut(str(delimiter), is_last=place == "last", keeps_head=word == "before")
    if word == "unordered" and not isinstance(said, str):
        return Unordered(is_set=_known(value, _KINDS, "kind of values") == "set")
    if word not in ("drop", "star"):
        raise BadInputError(f"{key}: {word!r} needs a value, as in {{{word!r}: ...}}")
    return Drop() if word == "drop" else Star()


def _statistics(counts: dict[str, Any]) -> RuleStatistics:
    for name, count in counts.items():
        _known(name, _COUNTS, "count")
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise BadInputError(f"count {name!r} is {count!r}; it has to be a number of 0 or more")
        if count > MAX_COUNT:
            raise BadInputError(f"count {name!r} is more than {MAX_COUNT}")
    urls, support_pairs, false_pairs, groups, wrong = (counts.get(name, 0) for name in _COUNTS)
    if wrong > groups:
        raise BadInputError(f"{wrong} of {groups} groups cannot be wrong")
    return RuleStatistics(urls, support_pairs, false_pairs, MergeEvidence(groups, wrong))


def _single(key: str, said: Any, known: Sequence[str], what: str) -> tuple[str, Any]:
    table = _table(said, f"the {what} of {key}")
    if len(table) != 1:
        raise BadInputError(f"{key}: a {what} is one of {', '.join(known)}, with its value")
    ((word, value),) = table.items()
    return _known(word, known, what), value


def _known(word: Any, known: Sequence[str], what: str) -> str:
    if isinstance(word, str) and word in known:
        return word
    raise BadInputError(f"unknown {what} {word!r}; known: {', '.join(known)}.{did_you_mean(str(word), known)}")


def _table(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInputError(f"{what} has to be a table, found {_kind(value)}")
    return value


def _text(key: str, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise BadInputError(f"{key}: {value!r} is no text; values are strings, or null for a key without '='")
    return value


def _kind(value: Any) -> str:
    return {dict: "a table", list: "a list", str: "a text", type(None): "nothing"}.get(type(value), repr(value))
