"""Rules of a host that give the same result in any order, on URLs without odd spellings."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from dedup_crawler.rules.language.matchers import ANY, Matcher, few_values
from dedup_crawler.rules.language.operations import Copy, Drop, Edit, Operation, Set, Star
from dedup_crawler.rules.language.rule import Rule

_PATH = "path"
"""Stands for all keys of the path: a change of one key may change how the others are read."""
EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,8}").fullmatch
_SET_PLAINLY = re.compile(r"[A-Za-z0-9_~\-]+").fullmatch


def commute(one: Rule, other: Rule, rules: Sequence[Rule]) -> bool:
    """Return True if two rules of a host give the same result on all plain URLs, whichever is applied first."""
    ours, theirs = _changed(one), _changed(other)
    if ours is None or theirs is None:
        return False
    if one.transformation == other.transformation or _never_meet(one, other, rules):
        return True
    if not _overlap(ours, other.spoken()) and not _overlap(theirs, one.spoken()):
        return True
    return _absorbs(one, other) or _absorbs(other, one)


def _changed(rule: Rule) -> frozenset[str] | None:
    """Keys that a rule may change on plain URLs; None if its result may be read as any keys."""
    changed: set[str] = set()
    for key, operation in rule.transformation.items():
        if not _is_plain_change(key, operation, rule):
            return None
        if key.startswith("path["):
            changed |= {key, "ext"}  # the new value may end like a file name
        else:
            is_path = key == "ext" or (key == "slash" and isinstance(operation, Set))
            changed.add(_PATH if is_path else _unrepeated(key))
    return frozenset(changed)


def _is_plain_change(key: str, operation: Operation, rule: Rule) -> bool:
    if key in ("path.length", "root") or isinstance(operation, Copy) or "@" in key:
        return False
    if key.startswith("path["):
        is_there = key in rule.context or isinstance(operation, (Edit, Star))
        if isinstance(operation, Drop) or not is_there:
            return False
    if isinstance(operation, Set) and key not in ("slash", "scheme"):
        return (EXTENSION if key == "ext" else _SET_PLAINLY)(operation.value or "") is not None
    return True


def _overlap(changed: Collection[str], spoken: Collection[str]) -> bool:
    keys = {_unrepeated(key) for key in spoken}
    is_path = any(key.startswith(("path", "ext", "slash")) for key in keys)
    return not keys.isdisjoint(changed) or (_PATH in changed and is_path)


def _unrepeated(key: str) -> str:
    return key.partition("#")[0]


def _never_meet(one: Rule, other: Rule, rules: Sequence[Rule]) -> bool:
    """Return True if the two rules require different values of a key that no rule changes."""
    written = {
        _unrepeated(key)
        for rule in rules
        for key, operation in rule.transformation.items()
        if not (key.startswith("query[") and isinstance(operation, Drop))
    }
    if not all(key.startswith(("query[", "scheme")) for key in written):
        written.add(_PATH)
    return any(
        not _overlap(written, (key,)) and "#" not in key and _are_disjoint(matcher, other.context[key])
        for key, matcher in one.context.items()
        if key in other.context
    )


def _are_disjoint(one: Matcher, other: Matcher) -> bool:
    return any(
        (values := few_values(few)) is not None and not any(map(many.matches, values))
        for few, many in ((one, other), (other, one))
    )


def _absorbs(drops: Rule, shortens: Rule) -> bool:
    """Return True if *drops* drops a parameter with any value, and *shortens* only changes that value."""
    keys = drops.transformation.keys() | shortens.transformation.keys()
    if len(keys) != 1 or not (drops.absent | shortens.absent).isdisjoint(keys):
        return False
    (key,) = keys
    return (
        key.startswith("query[")
        and isinstance(drops.transformation[key], Drop)
        and isinstance(shortens.transformation[key], (Edit, Star))
        and drops.context.get(key, ANY) == ANY
    )
