"""Rules in the JSON of duplicate-url-discarder, applied by that package's own matcher and processors.

As there, rules for all hosts are left aside where one is meant for the host. Its *normalizer* would also take ``www.``
from the host; here a rule never changes the host, for that other host may be another site.
"""

from __future__ import annotations

import json
import operator
import re
import warnings
from collections.abc import Collection, Sequence
from typing import Any

from dedup_crawler.errors import BadInputError, MissingExtraError
from dedup_crawler.rules.language.rule_ids import identifier
from dedup_crawler.urls.normal import host_of, normal_form

_PARTS = ("include", "exclude")
_MAX_RULES = 100_000
_MAX_PATTERN = 2_000
_MAX_STARS = 2  # each costs a power of the URL's length
_MAX_URL = 2_000
"""A longer URL is left alone: with two wildcards it would take a second."""
_SAYS = {
    "queryRemoval": "drops the parameters {}",
    "queryRemovalExcept": "drops all parameters but {}",
    "subpathRemoval": "drops the path parts {} (counted from 0)",
    "normalizer": "drops slashes at the end",
}


class DiscarderRules:
    """The rules of one file.

    Parameters
    ----------
    value
        Its JSON.
    file
        Its name, for what is said of its rules.

    Raises
    ------
    BadInputError
        If it is not in that format.
    MissingExtraError
        If the package is not installed.
    """

    kind = "duplicate-url-discarder"

    def __init__(self, value: Any, file: str) -> None:
        matcher_of, rule_of, processor_of = _package()
        self.file = file
        self.refused: list[str] = []
        """Reasons why rules were left out."""
        self._kept: list[Any] = []
        self._matcher = matcher_of()
        self._processors: list[tuple[str, Any]] = []
        self.sentences: dict[str, str] = {}
        """Identifier -> what the rule does."""
        if not isinstance(value, list) or len(value) > _MAX_RULES:
            raise BadInputError(f"{file}: expected a list of rules, as duplicate-url-discarder has them.")
        parsed: dict[Any, tuple[Any, dict[str, Any]]] = {}
        for number, said in enumerate(value, start=1):
            read = _read(said, rule_of, processor_of)
            if isinstance(read, str):
                self.refused.append(f"{file}, rule {number}: {read}")
            else:
                parsed.setdefault(read[0], read[1:])
        if value and not parsed:
            raise BadInputError(f"{file}: none of its rules is one of duplicate-url-discarder ({self.refused[0]}).")
        for rule in sorted(parsed, key=operator.attrgetter("order")):
            self._take(rule, *parsed[rule])

    def applied(self, url: str, off: Collection[str]) -> tuple[str, list[str]]:
        """A URL in normal form as the rules write it, and which did; *off* are left out."""
        if len(url) > _MAX_URL:
            return url, []
        start = url
        fired = []
        try:
            numbers = list(self._matcher.match_all(url, include_universal=False)) or list(
                self._matcher.match_universal()
            )
            for number in numbers:
                known, processor = self._processors[number]
                changed = url if known in off else _at(start, processor.process(url))
                if changed != url:
                    fired.append(known)
                    url = changed
        except ValueError:  # what no request could be sent to, such as a bad port
            return start, []
        return url, fired

    def to_json(self) -> Any:
        """The rules that are used, in the format of the file."""
        return self._kept

    def _take(self, rule: Any, processor: Any, said: dict[str, Any]) -> None:
        number = len(self._processors)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a wildcard where it has no meaning is left out
                self._matcher.add_or_update(number, rule.url_pattern)
        except ValueError as error:  # a pattern without a domain
            self.refused.append(f"{self.file}: {error}")
            return
        known = identifier("discarder", said)
        self._processors.append((known, processor))
        self._kept.append(said)
        does = _SAYS[rule.processor].format(", ".join(map(str, rule.args)))
        self.sentences[known] = f"{self.file}: {does} on {_listed(rule.url_pattern.include)}"


def _package() -> tuple[Any, Any, Any]:
    try:
        from duplicate_url_discarder.processors import get_processor
        from duplicate_url_discarder.rule import UrlRule
        from tldextract import tldextract
        from url_matcher import URLMatcher
    except ImportError:
        raise MissingExtraError(
            "reading the rules of duplicate-url-discarder", "duplicate-url-discarder", "static"
        ) from None
    tldextract.TLD_EXTRACTOR.suffix_list_urls = ()  # a form must not depend on what can be reached
    return URLMatcher, UrlRule.from_dict, get_processor


def _read(said: Any, rule_of: Any, processor_of: Any) -> tuple[Any, Any, dict[str, Any]] | str:
    """A rule, what applies it, and its JSON; or why it is left out."""
    try:
        checked = _checked(said)
        rule = rule_of(checked)
        return rule, processor_of(rule), checked
    except (KeyError, TypeError, ValueError) as error:
        return str(error) or type(error).__name__


def _checked(said: Any) -> dict[str, Any]:
    """A rule whose patterns can be matched in time; TypeError or ValueError says why not."""
    if not isinstance(said, dict) or not isinstance(said.get("urlPattern"), dict):
        raise TypeError("a rule has 'order', 'processor', 'urlPattern' and 'args'")
    if said.get("processor") not in _SAYS or type(said.get("order")) is not int:
        raise ValueError(f"unknown processor {json.dumps(said.get('processor'))[:40]}, or no order")
    patterns = said["urlPattern"]
    if not patterns.keys() <= {*_PARTS, "priority"}:
        raise ValueError("a urlPattern has 'include', 'exclude' and 'priority'")
    for pattern in [each for part in _PARTS for each in _strings(patterns.get(part) or [])]:
        if len(pattern) > _MAX_PATTERN or len(re.findall(r"\*+", pattern)) > _MAX_STARS:
            raise ValueError(f"{pattern[:80]!r} has more than {_MAX_STARS} wildcards, or {_MAX_PATTERN} characters")
    single = {part: [_single_stars(each) for each in patterns.get(part) or []] for part in _PARTS}
    return {**said, "urlPattern": {**patterns, **single}}


def _strings(values: Any) -> Sequence[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("'include' and 'exclude' are lists of patterns")
    return values


def _single_stars(pattern: str) -> str:
    return re.sub(r"\*+", "*", pattern)


def _at(start: str, changed: str) -> str:
    """Result of a rule, in normal form and at the host that the URL had."""
    changed = normal_form(changed)
    if host_of(changed) == host_of(start):
        return changed
    behind = changed.partition("://")[2]
    place = start.find("/", start.find("://") + 3)
    return start[:place] + behind[behind.find("/") :]


def _listed(patterns: Sequence[str]) -> str:
    shown = [pattern if pattern.isprintable() else repr(pattern) for pattern in patterns[:3] if pattern] or [
        "all hosts"
    ]
    return ", ".join(shown) + (f" and {len(patterns) - 3} more" if len(patterns) > 3 else "")
