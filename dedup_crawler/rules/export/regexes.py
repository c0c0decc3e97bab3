r"""Conditions and operations as regular expressions that Java and Python read alike, for URLs in normal form.

Only literals, classes, groups, look-ahead and one back reference; nothing is repeated inside a repetition without a
delimiter between, so that no URL makes a matcher backtrack far. All of them start at ``^``; group 1 is taken by the
look-ahead that finds names which come twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dedup_crawler.rules.export.meeting import Conditions, Step, last_part
from dedup_crawler.rules.rule import ANY, Cut, Drop, Literal, Matcher, NoneOf, OfClass, OneOf, Operation, Set, Star

_MAX_LENGTH = 2_000
_SEGMENT = r"[^/?]+"
_EXTENSION = r"\.[A-Za-z0-9]{1,8}"
_PATH_END = r"(?:\?|$)"
_LAST = rf"/?{_PATH_END}"
_PARAMETERS = r"[^?]*\?(?:[^&]*&)*"
_VALUE_END = r"(?:&|$)"
_NEVER = "(?!)"
_CLASSES = {"digits": "[0-9]+", "hex": "(?:[0-9a-f]+|[0-9A-F]+)", "alpha": "[A-Za-z]+", "slug": r"[0-9A-Za-z_\-]+"}
_NOT_NORMAL = (
    r"(?!.*[^A-Za-z0-9\-._~:/?\[\]@!$\x26'()*+,;=%])"
    r"(?!.*%(?![0-9A-F]{2}))"
    r"(?!.*%(?:2D|2E|5F|7E|3[0-9]|4[1-9A-F]|5[0-9A]|6[1-9A-F]|7[0-9A]))"
)
_NO_NAME_TWICE = r"(?!.*[?&]([^=&]+)(?:=[^&]*)?&(?:.*&)?\1(?:[=&]|$))"


class UnsayableError(Exception):
    """A condition or operation that cannot be written; the text says why."""


def rule_patterns(step: Step) -> Iterator[tuple[str, str]]:
    """Pattern and substitution (``$2``) pairs that together apply a rule, or a part of it, to plain URLs.

    Raises
    ------
    UnsayableError
        If nothing of it can be written.
    """
    where = "^" + "".join(_where(step))
    for body, substitution in _bodies(step):
        yield f"{where}{body}$", substitution


def is_whole(step: Step) -> bool:
    """Whether :func:`rule_patterns` says all that a rule does."""
    is_at_once = _are_two_drops(step) or last_part(step.rule) is not None
    return is_at_once or step.separable == step.rule.transformation.keys()


def _where(step: Step) -> Iterator[str]:
    """Look-aheads: the URL is plain, the rule is for it, and no rule that would mind is."""
    origin = _origin(step)
    yield rf"(?=.{{1,{_MAX_LENGTH}}}$)"
    yield _NOT_NORMAL
    root = "" if step.needs_path else "/|"
    yield rf"(?={origin}(?:{root}(?:/{_SEGMENT})+/?){_PATH_END})"
    if step.needs_plain_path:
        yield rf"(?={origin}[^?;(:=]*{_PATH_END})"
    if step.needs_no_query:
        yield r"(?!.*\?)"
    if step.needs_one_ending:
        yield rf"(?![^?]*[^/?]{_EXTENSION}{_EXTENSION}{_LAST})"
    name = r"[^=&]+" if step.names is None else _any_of(sorted(step.names - {""}))
    yield rf"(?=[^?]*(?:\?{name}(?:=[^&]*)?(?:&{name}(?:=[^&]*)?)*)?$)"
    yield _NO_NAME_TWICE
    yield from _all(step.conditions, origin)
    for excluded in step.excluded:
        yield f"(?!{''.join(_all(excluded, origin))})"


def _origin(step: Step) -> str:
    return rf"https?://{re.escape(step.rule.host)}"


def _all(conditions: Conditions, origin: str) -> Iterator[str]:
    """Look-aheads that all conditions are met."""
    for key, matcher in sorted(conditions.matchers.items()):
        yield from _looks(key, matcher, origin)
    for key in sorted(conditions.absent):
        if "#" not in key:  # no name comes twice
            yield f"(?!{_is_there(key, origin)})"
    for key, text in sorted(conditions.has.items()):
        if key.startswith("path["):
            yield rf"(?={_before(key, origin)}[^/?]*{re.escape(text)})"
        else:
            yield rf"(?={_PARAMETERS}{_name(key)}=[^&]*{re.escape(text)})"


def _looks(key: str, matcher: Matcher, origin: str) -> Iterator[str]:
    if isinstance(matcher, NoneOf):
        yield f"(?={_is_there(key, origin)})"
        for value in sorted(matcher.values, key=str):
            if (pattern := _has(key, Literal(value), origin)) is not None:
                yield f"(?!{pattern})"
        return
    pattern = _has(key, matcher, origin)
    yield f"(?={pattern})" if pattern is not None else _NEVER


def _is_there(key: str, origin: str) -> str:
    pattern = _has(key, ANY, origin)
    return pattern if pattern is not None else _NEVER


def _has(key: str, matcher: Matcher, origin: str) -> str | None:
    """Pattern (from the start of the URL) of a key with such a value; None if no plain URL has one."""
    values = [matcher.value] if isinstance(matcher, Literal) else None
    if isinstance(matcher, OneOf):
        values = sorted(matcher.values, key=str)
    if values is not None:
        patterns = [found for value in values if (found := _has_value(key, value, origin)) is not None]
        return _either(patterns)
    name = matcher.name if isinstance(matcher, OfClass) else "any"
    return _has_class(key, name, origin)


def _has_value(key: str, value: str | None, origin: str) -> str | None:
    if key.startswith("query["):
        if value is None:
            return f"{_PARAMETERS}{_name(key)}{_VALUE_END}"
        return f"{_PARAMETERS}{_name(key)}={re.escape(value)}{_VALUE_END}" if _is_writable(value, "&#") else None
    if not value or not _is_writable(value, "?#" if key == "slash" else "/?#"):
        return None
    if key == "scheme":
        return f"{re.escape(value)}:"
    if key == "path.length":
        return _path_of(int(value), origin) if value.isascii() and value.isdecimal() else None
    if key == "ext":
        return rf"{origin}(?:/{_SEGMENT})+{re.escape(value)}{_LAST}" if re.fullmatch(_EXTENSION, value) else None
    if key == "slash":
        return rf"{origin}(?:/{_SEGMENT})+/{_PATH_END}" if value == "/" else None
    return _segment(key, re.escape(value), origin)


def _has_class(key: str, name: str, origin: str) -> str | None:
    if key.startswith("query["):
        if name == "any":
            return f"{_PARAMETERS}{_name(key)}(?:[=&]|$)"
        return f"{_PARAMETERS}{_name(key)}={_CLASSES[name]}{_VALUE_END}"
    if key == "scheme":
        return "https?:" if name != "digits" and name != "hex" else None
    if key == "path.length":
        return origin if name != "alpha" else None
    if key == "ext":
        return rf"{origin}(?:/{_SEGMENT})*/{_SEGMENT}{_EXTENSION}{_LAST}" if name == "any" else None
    if key == "slash":
        return rf"{origin}(?:/{_SEGMENT})+/{_PATH_END}" if name == "any" else None
    if key == "root":
        return None
    if name == "any":
        return f"{_before(key, origin)}{_SEGMENT}"
    return _segment(key, _CLASSES[name], origin)


def _segment(key: str, value: str, origin: str) -> str:
    """A part of the path with a value; the extension of the last part does not belong to it."""
    ends = rf"[^/?]+{_EXTENSION}{_LAST}"
    return rf"{_before(key, origin)}(?:{value}/[^/?]|{value}{_EXTENSION}{_LAST}|(?!{ends}){value}{_LAST})"


def _before(key: str, origin: str) -> str:
    if not key.startswith("path["):
        raise UnsayableError(f"it speaks of {key}")
    place = int(key[5:-1])
    return rf"{origin}(?:/{_SEGMENT}){{{place}}}/"


def _path_of(length: int, origin: str) -> str:
    return rf"{origin}(?:/{_SEGMENT}){{{length}}}{_LAST}" if length else f"{origin}/{_PATH_END}"


def _bodies(step: Step) -> Iterator[tuple[str, str]]:
    operations = step.rule.transformation
    if _are_two_drops(step):
        one, other = sorted(operations)
        yield from _drop_two(one, other)
        yield from _drop_two(other, one)
    elif (last := last_part(step.rule)) is not None:
        yield from _drop_last(last, _origin(step))
    elif not step.separable:
        raise UnsayableError("it changes several things at once")
    for key in sorted(step.separable):
        yield from _body(key, operations[key], _origin(step), step)


def _are_two_drops(step: Step) -> bool:
    operations = step.rule.transformation
    return len(operations) == 2 and all(
        isinstance(operation, Drop) and key.startswith("query[") for key, operation in operations.items()
    )


def _body(key: str, operation: Operation, origin: str, step: Step) -> Iterator[tuple[str, str]]:
    if key in step.rule.absent:
        raise UnsayableError(f"it adds {key}")
    if key.startswith("query["):
        yield from _query_body(_name(key), operation)
    elif key.startswith("path["):
        yield from _path_body(_before(key, origin), operation)
    elif key == "scheme" and isinstance(operation, Set):
        other = "http" if operation.value == "https" else "https"
        yield f"{other}(://.*)", f"{operation.value}$2"
    elif key == "slash" and isinstance(operation, Drop):
        yield rf"({origin}(?:/{_SEGMENT})+)/((?:\?.*)?)", "$2$3"
    elif key == "slash" and isinstance(operation, Set):
        yield rf"({origin}(?:/{_SEGMENT})+)((?:\?.*)?)", "$2/$3"
    elif key == "ext" and isinstance(operation, Drop):
        yield rf"({origin}(?:/{_SEGMENT})*/{_SEGMENT}){_EXTENSION}(/?(?:\?.*)?)", "$2$3"
    elif key == "ext" and isinstance(operation, Set) and "ext" in step.rule.context:
        yield rf"({origin}(?:/{_SEGMENT})*/{_SEGMENT}){_EXTENSION}(/?(?:\?.*)?)", f"$2{_plain(operation.value)}$3"
    else:
        raise UnsayableError(f"what it does to {key} cannot be written")


def _query_body(name: str, operation: Operation) -> Iterator[tuple[str, str]]:
    before = r"([^?]*\?(?:[^&]*&)*?"
    if isinstance(operation, Drop):
        yield rf"{before}){name}(?:=[^&]*)?&(.*)", "$2$3"
        yield rf"([^?]*\?(?:[^&]*&)*[^&]*)&{name}(?:=[^&]*)?", "$2"
        yield rf"([^?]*)\?{name}(?:=[^&]*)?", "$2"
    elif isinstance(operation, (Star, Set)):
        value = "*" if isinstance(operation, Star) else operation.value
        yield rf"{before}{name}=)[^&]*((?:&.*)?)", f"$2{_plain(value)}$3"
    elif isinstance(operation, Cut):
        value, kept = _cut(operation, "&")
        yield rf"{before}{name}=){value}((?:&.*)?)", f"$2{kept}$4"
    else:
        raise UnsayableError("the order of values cannot be written")


def _drop_two(one: str, other: str) -> Iterator[tuple[str, str]]:
    """Drop two parameters at once, the one that stands first being *one*."""
    first, second = rf"{_name(one)}(?:=[^&]*)?", rf"{_name(other)}(?:=[^&]*)?"
    before = r"([^?]*\?(?:[^&]*&)*?)"
    yield rf"{before}{first}&((?:[^&]*&)*?){second}&(.*)", "$2$3$4"
    yield rf"{before}{first}&([^&]*(?:&[^&]*)*)&{second}", "$2$3"
    yield rf"([^?]*\?(?:[^&]*&)*[^&]*)&{first}&{second}", "$2"
    yield rf"([^?]*)\?{first}&{second}", "$2"


def _path_body(before: str, operation: Operation) -> Iterator[tuple[str, str]]:
    rest = r"((?:[/?].*)?)"
    is_last_with_extension = rf"{_SEGMENT}{_EXTENSION}{_LAST}"
    if isinstance(operation, Cut):
        value, kept = _cut(operation, "/?")
        yield rf"({before})(?!{is_last_with_extension}){value}{rest}", f"$2{kept}$4"
    elif isinstance(operation, (Star, Set)):
        value = "*" if isinstance(operation, Star) else _plain(operation.value)
        yield rf"({before})(?!{is_last_with_extension}){_SEGMENT}{rest}", f"$2{value}$3"
        yield rf"({before}){_SEGMENT}({_EXTENSION}/?(?:\?.*)?)", f"$2{value}$3"
    else:
        raise UnsayableError("it builds another path")


def _drop_last(place: int, origin: str) -> Iterator[tuple[str, str]]:
    """Drop the last part of a path; an extension stays, at the part before it."""
    before, rest = rf"({origin}(?:/{_SEGMENT}){{{place}}})", r"(/?(?:\?.*)?)"
    yield rf"{before}(?!/{_SEGMENT}{_EXTENSION}{_LAST})/{_SEGMENT}{rest}", "$2$3"
    yield rf"{before}/{_SEGMENT}({_EXTENSION}/?(?:\?.*)?)", "$2$3"


def _cut(operation: Cut, ends: str) -> tuple[str, str]:
    """Pattern of a value, with group 3 around what is left of it, and what is left."""
    if operation.delimiter in f"{ends}%#" or not operation.delimiter.isascii():
        raise UnsayableError(f"it cuts at {operation.delimiter!r}")
    delimiter = re.escape(operation.delimiter)
    any_of, but = f"[^{ends}]", rf"[^{ends}\{operation.delimiter}]" if not operation.delimiter.isalnum() else ""
    if not but:
        but = f"[^{ends}{operation.delimiter}]"
    if operation.keeps_head:
        if operation.is_last:
            return rf"({any_of}*{delimiter}){but}+", "$3"
        return rf"({but}+){delimiter}{any_of}+", "$3"
    if operation.is_last:
        return rf"{any_of}+{delimiter}({but}+)", "$3"
    return rf"{but}+({delimiter}{any_of}*)", "$3"


def _name(key: str) -> str:
    return re.escape(key[6:].partition("]#")[0].removesuffix("]"))


def _plain(value: str | None) -> str:
    """Text of a substitution."""
    return (value or "").replace("\\", r"\\").replace("$", r"\$")


def _is_writable(value: str, forbidden: str) -> bool:
    return value.isascii() and value.isprintable() and " " not in value and not set(value) & set(forbidden)


def _either(patterns: list[str]) -> str | None:
    if not patterns:
        return None
    return patterns[0] if len(patterns) == 1 else f"(?:{'|'.join(patterns)})"


def _any_of(names: Iterable[str]) -> str:
    return _either([re.escape(name) for name in names]) or _NEVER
