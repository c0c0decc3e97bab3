"""Writes rules for other programs: as a plain table, and in the JSON of duplicate-url-discarder.

That program can only drop query parameters. It applies its rules once, in no particular order. So a rule is written
only if the order does not matter: the other rules of its host neither change the keys that it looks at nor look at the
parameters that it drops, and the rules of the host give the same result in any order.

Its patterns (of the package url-matcher) ignore letter case. A repeated parameter matches if one of its values does. A
pattern for a host also matches the host with ``www.`` in front, with any character for the dot. The context of a rule
becomes ``include`` patterns if they are exact, and otherwise ``exclude`` patterns that are rather too wide.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

from dedup_crawler.rules.language.identifiers import rule_identifier
from dedup_crawler.rules.language.matchers import ANY, Literal, Matcher, NoneOf, few_values
from dedup_crawler.rules.language.operations import Copy, Drop, Edit, Operation, Set, Star
from dedup_crawler.rules.language.rule import AnyRule, Rule
from dedup_crawler.rules.language.sentences import sentence_of
from dedup_crawler.urls.keyvalue import KEY_VALUES, UrlMap

COLUMNS = ("rule", "groups", "wrong", "switched_off", "sentence")
NOTE = (
    "duplicate-url-discarder ignores the letter case of paths and values, decodes percent-encoded characters, and does "
    "not tell repeated, empty and bare parameters from others, or new ones from known ones: on such URLs it may merge "
    "more than the model does"
)
_ORDER = 1
_MAX_FIRINGS = 9  # the engine gives up after ten passes
_MAX_PATTERNS = 500  # patterns of one rule
_LENGTHS = tuple(map(str, range(1, 11)))  # lengths of paths that are written part by part
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._~\-]+").fullmatch
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9._~;:=@!$'(),/\-]*").fullmatch
_PLAIN_PART = re.compile(r"[A-Za-z0-9._~!$'(),:@=+\-]+").fullmatch
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,8}").fullmatch
_SET_PLAINLY = re.compile(r"[A-Za-z0-9_~\-]+").fullmatch
_ENDS_LIKE_A_FILE = re.compile(r".+\.[A-Za-z0-9]{1,8}").fullmatch
_PATH = "path"  # stands for all keys of the path: a change of one key may change how the others are read
_LOOKALIKES = tuple(f"www{character}" for character in ".-_~" + string.digits + string.ascii_lowercase)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A rule that is not in the exported file."""

    sentence: str
    reason: str


@dataclass(frozen=True, slots=True)
class Export:
    """A file in the format of another program."""

    text: str
    n_said: int
    """Number of rules in the file."""
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    """Limits of the format, for the user."""


@dataclass(frozen=True)
class ModelRules:
    """The rules of a fitted model, and everything else that decides about its forms."""

    rules: Sequence[AnyRule]
    """Rules in the order of the engine."""
    maps: Mapping[str, UrlMap] = field(default_factory=dict)
    """Host -> map that reads its URLs, if it is not the usual one."""
    unsayable: Mapping[str, str] = field(default_factory=dict)
    """Host -> why no other program can apply its rules."""
    guards: Mapping[str, str] = field(default_factory=dict)
    """Host -> description of the URLs that keep their own form whatever the rules say; no format can express it."""
    others: Sequence[LeftOut] = ()
    """Knowledge of the model that is not a rule about single URLs."""


def to_table(
    sentences: Mapping[str, str], evidence: Mapping[str, tuple[int, int]], switched_off: Collection[str] = ()
) -> Export:
    """Write all rules of a model of any method as a table with tabs between the columns."""
    lines = ["\t".join(COLUMNS)]
    for known, sentence in sentences.items():
        n_groups, n_wrong = evidence.get(known, (0, 0))
        cells = (known, str(n_groups), str(n_wrong), "yes" if known in switched_off else "", " ".join(sentence.split()))
        lines.append("\t".join(cells))
    return Export("\n".join(lines) + "\n", len(sentences))


class _UnsayableError(Exception):
    """The format cannot express a rule; the text says why."""


def to_discarder(model: ModelRules, switched_off: Collection[str] = (), *, with_guards: bool = True) -> Export:
    """Write the rules of a model that the format can express.

    Rules whose identifiers are in *switched_off* are left out, because a crawl found them wrong. With *with_guards*, so
    are the rules of hosts where the model has guards.
    """
    said: list[dict[str, object]] = []
    left_out: list[LeftOut] = []
    for rule in model.rules:
        try:
            said.append(_said(rule, model, switched_off, with_guards=with_guards))
        except _UnsayableError as error:  # noqa: PERF203 - each rule by itself
            left_out.append(LeftOut(sentence_of(rule), str(error)))
    text = json.dumps(said, indent=2, sort_keys=True, ensure_ascii=True) + "\n"
    return Export(text, len(said), (*left_out, *model.others), (NOTE,) if said else ())


def _said(rule: AnyRule, model: ModelRules, switched_off: Collection[str], *, with_guards: bool) -> dict[str, object]:
    if rule_identifier(rule) in switched_off:
        raise _UnsayableError("a crawl switched it off")
    if not isinstance(rule, Rule) or not all(
        isinstance(operation, Drop) and key[:6] == "query[" and _PLAIN_NAME(key[6:-1])
        for key, operation in rule.transformation.items()
    ):
        raise _UnsayableError("the format only drops parameters")
    if with_guards and rule.host in model.guards:
        raise _UnsayableError(f"{model.guards[rule.host]}, which the format cannot express")
    if rule.host in model.unsayable:
        raise _UnsayableError(model.unsayable[rule.host])
    cuts = model.maps.get(rule.host, KEY_VALUES).cuts
    if any("@" in key or key in cuts for key in rule.spoken()):
        raise _UnsayableError("it is about pieces of values")
    if any("#" in key for key in rule.required()):
        raise _UnsayableError("it is about parameters that occur more than once")
    _check_order([other for other in model.rules if other.host == rule.host])
    include, exclude = _patterns(rule)
    if len(include) > _MAX_PATTERNS or len(exclude) > _MAX_PATTERNS:
        raise _UnsayableError(f"it needs more than {_MAX_PATTERNS} patterns")
    names = sorted(key[6:-1] for key in rule.transformation)
    pattern = {"include": include, "exclude": exclude}
    return {"order": _ORDER, "processor": "queryRemoval", "args": names, "urlPattern": pattern}


def _check_order(of_host: Sequence[AnyRule]) -> None:
    """Raise _UnsayableError if the form of a URL may depend on the order in which the rules of a host are applied."""
    rules = [other for other in of_host if isinstance(other, Rule)]
    if len(rules) < len(of_host):
        raise _UnsayableError("a substring rule of its host may change the URLs that it leaves")
    operations = {item for other in rules for item in other.transformation.items()}
    if len(operations) > _MAX_FIRINGS:
        raise _UnsayableError(f"more than {_MAX_FIRINGS} rules of its host may meet on one URL")
    for one, other in combinations(rules, 2):
        if not _commute(one, other):
            raise _UnsayableError(f"the order of two rules of its host may matter ({one}; {other})")


def _commute(one: Rule, other: Rule) -> bool:
    """Return True if two rules of a host surely give the same result on all plain URLs, whichever is applied first."""
    ours, theirs = _changed(one), _changed(other)
    if ours is None or theirs is None:
        return False
    if one.transformation == other.transformation:
        return True
    return not _overlap(ours, other.spoken()) and not _overlap(theirs, one.spoken())


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
            changed.add(_PATH if is_path else key.partition("#")[0])
    return frozenset(changed)


def _is_plain_change(key: str, operation: Operation, rule: Rule) -> bool:
    if key in ("path.length", "root") or isinstance(operation, Copy) or "@" in key:
        return False
    if key.startswith("path["):
        is_there = key in rule.context or isinstance(operation, (Edit, Star))
        if isinstance(operation, Drop) or not is_there:
            return False
    if isinstance(operation, Set) and key not in ("slash", "scheme"):
        return (_EXTENSION if key == "ext" else _SET_PLAINLY)(operation.value or "") is not None
    return True


def _overlap(changed: Collection[str], spoken: Collection[str]) -> bool:
    keys = {key.partition("#")[0] for key in spoken}
    is_path = any(key.startswith(("path", "ext", "slash")) for key in keys)
    return not keys.isdisjoint(changed) or (_PATH in changed and is_path)


def _patterns(rule: Rule) -> tuple[list[str], list[str]]:
    """Patterns of the URLs that a rule matches (include), and of exceptions among them (exclude)."""
    scheme = rule.context.get("scheme", ANY)
    if scheme != ANY and not isinstance(scheme, Literal):
        raise _UnsayableError("the format cannot express its condition on the scheme")
    start = f"{scheme.value}://{rule.host}" if isinstance(scheme, Literal) else rule.host
    query, without = _query(rule)
    include, exclude = _paths(rule)
    exclude += [f"/?{each}" for each in without]
    return (
        [f"{start}{path}{query}" for path in include],
        [f"{rule.host}{each}" for each in exclude] + [f"{lookalike}{rule.host}/" for lookalike in _LOOKALIKES],
    )


def _query(rule: Rule) -> tuple[str, list[str]]:
    """Parameters that must be present, as ``?a=1&b=*``, and those that must be missing."""
    needed = []
    without = [f"{_name(key)}=*" for key in rule.absent if key.startswith("query[") and "#" not in key]
    for key, matcher in sorted(rule.context.items()):
        if not key.startswith("query["):
            continue
        values = few_values(matcher)
        if values is not None:
            needed += [f"{_name(key)}={_checked(value or '', _PLAIN_VALUE)}" for value in values]
        elif matcher == ANY or isinstance(matcher, NoneOf):
            needed.append(f"{_name(key)}=*")
            others = matcher.values if isinstance(matcher, NoneOf) else ()
            without += [f"{_name(key)}={value or '' if _PLAIN_VALUE(value or '') else '*'}" for value in others]
        else:
            raise _UnsayableError("the format cannot express a class of values")
    return ("?" + "&".join(needed) if needed else ""), sorted(without)


def _paths(rule: Rule) -> tuple[list[str], list[str]]:
    """Patterns of the paths that a rule matches (by first parts, or number of parts), and of exceptions among them."""
    exclude = ["//", "/*//", *_unwanted_paths(rule)]
    parts = {int(key[5:-1]): matcher for key, matcher in rule.context.items() if key.startswith("path[")}
    if "path.length" in rule.context or "ext" in rule.context or "slash" in rule.context:
        include, unwanted = _paths_of_length(rule, parts)
        return include, exclude + unwanted
    first: list[list[str]] = []
    while (values := few_values(parts.get(len(first), ANY))) is not None:
        del parts[len(first)]
        first.append(_parts(values))
    starts = ["".join(f"/{part}" for part in choice) for choice in product(*first)]
    if parts.keys() - {len(first)}:
        raise _UnsayableError("the format cannot express a condition on a path part behind one that may be anything")
    if not parts:
        return [*(f"{start}/" for start in starts), *(f"{start}|" for start in starts if start)], exclude
    return [f"{start}/*" for start in starts], [*exclude, *(f"{start}/|" for start in starts)]


def _paths_of_length(rule: Rule, parts: Mapping[int, Matcher]) -> tuple[list[str], list[str]]:
    """Patterns of paths for a rule with a number of path parts; a star also matches slashes, so few can be written."""
    length = rule.context.get("path.length")
    extensions = few_values(rule.context.get("ext", Literal("")))
    n_parts = int(length.value or 0) if isinstance(length, Literal) and length.value in _LENGTHS else -1
    if extensions is None or n_parts < 1 or any(place >= n_parts for place in parts):
        raise _UnsayableError("the format cannot express its condition on the path")
    slots = [few_values(parts.get(place, ANY)) for place in range(n_parts)]
    ends = [each or "" for each in extensions if not each or _EXTENSION(each)]
    slashes, unwanted = ["/"] if "slash" in rule.context else ["", "/"], []
    if None in slots:
        if "slash" in rule.context:
            raise _UnsayableError("the format cannot express its condition on the path")
        slashes, unwanted = [""], ["/" + "*/" * n_parts, "/*/|", "/|"]
        unwanted += [f"{start}{end}|" for end in ends if end for start in ("/", "/*/")]
    written = product(*(["*"] if values is None else _parts(values) for values in slots))
    return [
        "/" + "/".join(choice) + end + slash + "|" for choice in written for end in ends for slash in slashes
    ], unwanted


def _parts(values: Sequence[str | None]) -> list[str]:
    """Path parts as they are written in patterns."""
    if any(_ENDS_LIKE_A_FILE(value or "") for value in values):
        raise _UnsayableError("the format would take a part of the path for the name of a file")
    return [_checked(value or "", _PLAIN_PART) for value in values]


def _unwanted_paths(rule: Rule) -> Iterator[str]:
    """Patterns that match at least the paths that the rule excludes."""
    for key in sorted(rule.absent):
        if key.startswith("path["):
            yield "/" + "*/" * int(key[5:-1]) + "*"
        elif key == "ext":
            yield "/*."
        elif key == "slash":
            yield "/*/|"
        elif not key.startswith("query["):
            raise _UnsayableError("the format cannot express its condition on the path")
    for key, matcher in sorted(rule.context.items()):
        if key.startswith("path[") and isinstance(matcher, NoneOf):
            for value in sorted(filter(None, matcher.values)):
                yield "/" + "*/" * int(key[5:-1]) + _checked(value, _PLAIN_PART)
        elif key.startswith("path[") and matcher != ANY and few_values(matcher) is None:
            raise _UnsayableError("the format cannot express a class of values")


def _checked(value: str, is_plain: Callable[[str], object]) -> str:
    if not is_plain(value):
        raise _UnsayableError(f"the format reads {value} in another way")
    return value


def _name(key: str) -> str:
    return _checked(key[6:-1], _PLAIN_NAME)
