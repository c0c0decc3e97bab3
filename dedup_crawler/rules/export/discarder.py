"""Rules in the JSON of duplicate-url-discarder, as far as it can say them: parameters that go.

Its patterns (of the package url-matcher) compare without regard to letter case, a parameter that comes twice counts if
one of its values fits, and a pattern for a host is also one for ``www.`` and that host, with any character for the dot.
What narrows a rule is said in ``include`` where that can be said exactly, and in ``exclude`` rather too widely. What is
left, on URLs that hardly any site links to, is told as a note.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Collection, Iterator

from dedup_crawler.rules.export.formats import Export, Ledger
from dedup_crawler.rules.export.meeting import Conditions, Step, Unsaid, plan_steps
from dedup_crawler.rules.export.model_rules import ModelRules
from dedup_crawler.rules.export.path_patterns import few_values, path_patterns, too_wide
from dedup_crawler.rules.export.regexes import UnsayableError
from dedup_crawler.rules.rule import ANY, Drop, Literal, NoneOf, OfClass

NOTE = (
    "duplicate-url-discarder compares paths and values without regard to letter case, takes a parameter that is "
    "repeated, empty or without = for any other, and reads percent-encoded characters as what they stand for: of URLs "
    "with any of that it may merge more than the model does"
)
_ORDER = 1
_MAX_PATTERNS = 500  # of one rule
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._~\-]+")
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9._~;:=@!$'(),/\-]*")
_LOOKALIKES = tuple(f"www{character}" for character in ".-_~" + string.digits + string.ascii_lowercase)


def to_discarder(model: ModelRules, switched_off: Collection[str] = ()) -> Export:
    """Write what a model says, as far as the format can say it."""
    ledger = Ledger(model, switched_off)
    ledger.leave_out_aliases(model, "the format never changes the host alone")
    rules: list[dict[str, object]] = []
    for step in plan_steps(model):
        if ledger.is_off(step.number):
            continue
        if isinstance(step, Unsaid):
            ledger.leave_out(step.number, step.reason)
            continue
        try:
            rules += _rules(step)
        except UnsayableError as error:
            ledger.leave_out(step.number, str(error))
            continue
        dropped = _dropped(step)
        is_whole = len(dropped) == len(step.rule.transformation)
        ledger.say(step.number, is_whole=is_whole, what_is_missing="only " + ", ".join(sorted(dropped)))
    text = json.dumps(rules, indent=2, sort_keys=True, ensure_ascii=True) + "\n"
    return ledger.close(text, *([NOTE] if rules else []))


def _rules(step: Step) -> list[dict[str, object]]:
    """One rule for each way in which the path has to be told."""
    if step.names is not None:
        raise UnsayableError(
            "a URL with a parameter that the model never met is left alone, which the format cannot say"
        )
    names = sorted(key[6:-1] for key in _dropped(step))
    if not all(map(_PLAIN_NAME.fullmatch, names)):
        raise UnsayableError(f"a name is read in other ways there: {', '.join(names)}")
    rules: list[dict[str, object]] = [
        {
            "order": _ORDER,
            "processor": "queryRemoval",
            "args": names,
            "urlPattern": {"include": include, "exclude": exclude},
        }
        for include, exclude in _patterns(step)
    ]
    if not rules:
        raise UnsayableError("no path meets its conditions")
    return rules


def _dropped(step: Step) -> set[str]:
    """Keys of the parameters that go: all at once, or those that may go alone."""
    operations = step.rule.transformation
    are_drops = {key for key, each in operations.items() if isinstance(each, Drop) and key.startswith("query[")}
    chosen = are_drops if len(are_drops) == len(operations) else are_drops & step.separable
    if not chosen:
        raise UnsayableError("the format only drops parameters")
    return chosen


def _patterns(step: Step) -> Iterator[tuple[list[str], list[str]]]:
    """Patterns of URLs that a rule is for, and of those that it is to leave alone."""
    host, conditions = step.rule.host, step.conditions
    scheme = _scheme(conditions)
    query, without = _query(conditions)
    unwanted = [f"{host}/?{each}" for each in without]
    unwanted += [f"{host}{each}" for excluded in step.excluded for each in _too_wide(excluded)]
    unwanted += [f"{host}/|"] if step.needs_path else []
    unwanted += [f"{host}/*{character}" for character in ";(:="] if step.needs_plain_path else []
    unwanted += [f"{host}/*.*."] if step.needs_one_ending else []
    unwanted += [f"{lookalike}{host}/" for lookalike in _LOOKALIKES]
    for paths in path_patterns(conditions):
        include = [f"{scheme}{host}{each}{query}" for each in paths.include]
        exclude = [*(f"{host}{each}" for each in paths.exclude), *unwanted]
        if len(include) > _MAX_PATTERNS or len(exclude) > _MAX_PATTERNS:
            raise UnsayableError(f"it needs more than {_MAX_PATTERNS} patterns")
        yield include, exclude


def _scheme(conditions: Conditions) -> str:
    matcher = conditions.matchers.get("scheme", ANY)
    if isinstance(matcher, Literal) and matcher.value in ("http", "https"):
        return f"{matcher.value}://"
    if isinstance(matcher, OfClass) and matcher.name in ("any", "alpha", "slug"):
        return ""
    raise UnsayableError("its condition on the scheme cannot be said")


def _query(conditions: Conditions) -> tuple[str, list[str]]:
    """Parameters that have to be there, as ``?a=1&b=*``, and those that must not."""
    needed: list[str] = []
    without = [f"{_plain_name(key)}=*" for key in conditions.absent if key.startswith("query[") and "#" not in key]
    for key, matcher in sorted(conditions.matchers.items()):
        if not key.startswith("query["):
            continue
        name, values = _plain_name(key), few_values(matcher)
        if values is not None:
            if not all(map(_PLAIN_VALUE.fullmatch, values)):
                raise UnsayableError(f"a value is read in other ways there: {', '.join(values)}")
            needed += [f"{name}={value}" for value in values]
        elif matcher == ANY or isinstance(matcher, NoneOf):
            needed.append(f"{name}=*")
            if isinstance(matcher, NoneOf):
                without += [f"{name}={_widened(value or '')}" for value in matcher.values]
        else:
            raise UnsayableError("a class of values cannot be said")
    return ("?" + "&".join(needed) if needed else ""), sorted(without)


def _too_wide(excluded: Conditions) -> Iterator[str]:
    """Patterns that cover all URLs of which these conditions are true, and maybe more."""
    query: list[str] = []
    for key, matcher in sorted(excluded.matchers.items()):
        if key.startswith("query[") and _PLAIN_NAME.fullmatch(key[6:-1]):
            query += [f"{key[6:-1]}={_widened(value)}" for value in few_values(matcher) or ["*"]]
    for key, text in sorted(excluded.has.items()):
        if key.startswith("query[") and _PLAIN_NAME.fullmatch(key[6:-1]) and _PLAIN_VALUE.fullmatch(text):
            query.append(f"{key[6:-1]}=*{text}*")
    starts = too_wide(excluded)
    if starts == ["/"] and not query:
        raise UnsayableError("where other rules would mind cannot be said")
    for start in starts:
        yield f"{start}{'?' + '&'.join(query) if query else ''}"


def _widened(value: str) -> str:
    """A value in a pattern that excludes: what would be read in other ways is any text."""
    return value if value != "*" and _PLAIN_VALUE.fullmatch(value) else "*"


def _plain_name(key: str) -> str:
    name = key[6:-1]
    if not _PLAIN_NAME.fullmatch(name):
        raise UnsayableError(f"the name {name} is read in other ways there")
    return name
