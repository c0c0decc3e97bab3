"""Static rules in front of a model, which people wrote down: those of ClearURLs and of duplicate-url-discarder.

They are applied file after file until nothing changes. The author of a rule expects it to be applied once. If a rule
fires again on its own result (to drop one more path part, say), the URL keeps its own form.

The rules in the JSON of duplicate-url-discarder are applied by that package's own matcher and processors. As there,
rules for all hosts are not used on a host that has rules of its own. Its *normalizer* also removes ``www.`` from the
host. Here a rule never changes the host, because the other host may be another site.
"""

from __future__ import annotations

import json
import operator
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from dedup_crawler.errors import BadInputError, MissingExtraError
from dedup_crawler.json_values import read_json_file
from dedup_crawler.rules.exchange.clearurls import ClearUrls
from dedup_crawler.rules.language.identifiers import identifier
from dedup_crawler.urls.normal import host_of, normal_form

_PARTS = ("include", "exclude")
_MAX_RULES = 100_000
_MAX_PATTERN = 2_000
_MAX_STARS = 2  # wildcards of a pattern; with each, the time grows by a factor of the URL's length
_MAX_URL = 2_000
"""Characters of the longest URL to which rules are applied: matching takes a second with two wildcards."""
_SAYS = {
    "queryRemoval": "drops the parameters {}",
    "queryRemovalExcept": "drops all parameters but {}",
    "subpathRemoval": "drops the path parts {} (counted from 0)",
    "normalizer": "drops slashes at the end",
}
EXPECTED = "data.min.json of ClearURLs, or a list of rules of duplicate-url-discarder"
_MAX_PASSES = 10
_MAX_BYTES = 2**26


class DiscarderRules:
    """The rules of one file: *value* is its JSON, *file* its name, for messages about its rules.

    BadInputError if *value* is not in this format. MissingExtraError if the package is not installed.
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
        """Identifier -> description of the rule."""
        if not isinstance(value, list) or len(value) > _MAX_RULES:
            raise BadInputError(f"{file}: expected a list of rules, as duplicate-url-discarder has them.")
        parsed: dict[Any, tuple[Any, dict[str, Any]]] = {}
        for number, said in enumerate(value, start=1):
            try:
                checked = _checked(said)
                rule = rule_of(checked)
                parsed.setdefault(rule, (processor_of(rule), checked))
            except (KeyError, TypeError, ValueError) as error:  # noqa: PERF203 - each rule by itself
                self.refused.append(f"{file}, rule {number}: {str(error) or type(error).__name__}")
        if value and not parsed:
            raise BadInputError(f"{file}: none of its rules is one of duplicate-url-discarder ({self.refused[0]}).")
        for rule in sorted(parsed, key=operator.attrgetter("order")):
            self._take(rule, *parsed[rule])

    def applied(self, url: str, off: Collection[str]) -> tuple[str, list[str]]:
        """Apply the rules, except those in *off*, to a URL in normal form; return it and the rules that fired."""
        if len(url) > _MAX_URL:
            return url, []
        start = url
        fired = []
        try:
            own = list(self._matcher.match_all(url, include_universal=False))
            for number in own or self._matcher.match_universal():
                known, processor = self._processors[number]
                changed = url if known in off else _at(start, processor.process(url))
                if changed != url:
                    fired.append(known)
                    url = changed
        except ValueError:  # no request could be sent to this URL: it may have a bad port
            return start, []
        return url, fired

    def to_json(self) -> Any:
        """The used rules, in the format of the file."""
        return self._kept

    def _take(self, rule: Any, processor: Any, said: dict[str, Any]) -> None:
        number = len(self._processors)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the matcher ignores a meaningless wildcard
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
    tldextract.TLD_EXTRACTOR.suffix_list_urls = ()  # no download: a form must not depend on the network
    return URLMatcher, UrlRule.from_dict, get_processor


def _checked(said: Any) -> dict[str, Any]:
    """Check the JSON of a rule; TypeError or ValueError if it is malformed, or its patterns may take too long."""
    if not isinstance(said, dict) or not isinstance(said.get("urlPattern"), dict):
        raise TypeError("a rule has 'order', 'processor', 'urlPattern' and 'args'")
    if said.get("processor") not in _SAYS or type(said.get("order")) is not int:
        raise ValueError(f"unknown processor {json.dumps(said.get('processor'))[:40]}, or no order")
    if not isinstance(said.get("args") or [], list):  # the letters of a text would be names
        raise TypeError("'args' is a list")
    patterns = said["urlPattern"]
    if not patterns.keys() <= {*_PARTS, "priority"}:
        raise ValueError("a urlPattern has 'include', 'exclude' and 'priority'")
    lists = [patterns.get(part) or [] for part in _PARTS]
    if not all(isinstance(each, list) and all(isinstance(pattern, str) for pattern in each) for each in lists):
        raise TypeError("'include' and 'exclude' are lists of patterns")
    for pattern in chain(*lists):
        if len(pattern) > _MAX_PATTERN or len(re.findall(r"\*+", pattern)) > _MAX_STARS:
            raise ValueError(f"{pattern[:80]!r} has more than {_MAX_STARS} wildcards, or {_MAX_PATTERN} characters")
    single = {part: [re.sub(r"\*+", "*", each) for each in its] for part, its in zip(_PARTS, lists, strict=True)}
    return {**said, "urlPattern": {**patterns, **single}}


def _at(start: str, changed: str) -> str:
    """Result of a rule, in normal form and with the host of *start*."""
    changed = normal_form(changed)
    if host_of(changed) == host_of(start):
        return changed
    behind = changed.partition("://")[2]
    place = start.find("/", start.find("://") + 3)
    return start[:place] + behind[behind.find("/") :]


def _listed(patterns: Sequence[str]) -> str:
    shown = ", ".join(pattern if pattern.isprintable() else repr(pattern) for pattern in patterns[:3] if pattern)
    return (shown or "all hosts") + (f" and {len(patterns) - 3} more" if len(patterns) > 3 else "")


RuleFile = ClearUrls | DiscarderRules
"""The rules of one file."""


class StaticLayer:
    """Gives URLs their forms by the static rules of *files*, in this order, except those with the identifiers *off*."""

    def __init__(self, files: Sequence[RuleFile], off: frozenset[str] = frozenset()) -> None:
        self.files = tuple(files)
        self.off = off
        self._last: tuple[str, str, tuple[str, ...]] = ("", "", ())  # callers often ask several times about one URL

    def trace(self, url: str) -> tuple[str, tuple[str, ...]]:
        """Form of a URL in normal form, on the same host, and the identifiers of the rules that led to the form.

        The form is the URL itself if a rule fires twice, or the rules do not end.
        """
        last, form, fired = self._last
        if url != last:
            form, fired = self._settled(url)
            self._last = url, form, fired
        return form, fired

    def sentences(self) -> Mapping[str, str]:
        """Identifier -> description, for all used rules."""
        return {known: said for file in self.files for known, said in file.sentences.items() if known not in self.off}

    def without(self, identifiers: Collection[str]) -> StaticLayer:
        """The layer without some of the rules."""
        return StaticLayer(self.files, self.off.union(identifiers))

    def behind(self, first: StaticLayer) -> StaticLayer:
        """A layer with the rules of *first*, and then those of this layer."""
        return StaticLayer([*first.files, *self.files], self.off | first.off)

    def to_json(self) -> list[dict[str, Any]]:
        """All files with their used rules."""
        return [{"file": file.file, "rules": file.to_json()} for file in self.files]

    @classmethod
    def from_json(cls, value: Any, name: str) -> StaticLayer:
        """Read the result of :meth:`to_json`; BadInputError if *value* is not one."""
        if not isinstance(value, list) or not all(isinstance(each, dict) and "rules" in each for each in value):
            raise BadInputError(f"{name} is no list of rule files.")
        return cls([rules_of(each["rules"], str(each.get("file", name))) for each in value])

    def _settled(self, url: str) -> tuple[str, tuple[str, ...]]:
        form, fired = url, dict[str, None]()
        for _ in range(_MAX_PASSES):
            before = form
            now: list[str] = []
            for file in self.files:
                form, its = file.applied(form, self.off)
                now += its
            if form == before:
                return form, tuple(fired) if form != url else ()
            if not fired.keys().isdisjoint(now):
                break
            fired.update(dict.fromkeys(now))
        return url, ()


def rules_of(value: Any, file: str) -> RuleFile:
    """Rules in the JSON of a file.

    BadInputError if *value* is in no known format. MissingExtraError if a package that applies the rules is not
    installed.
    """
    if isinstance(value, list):
        return DiscarderRules(value, file)
    if isinstance(value, dict) and "providers" in value:
        return ClearUrls(value, file)
    raise BadInputError(f"{file} is in no known format of rules: expected {EXPECTED}.")


def read_rule_files(paths: Sequence[Path]) -> StaticLayer:
    """Read the rules of some files.

    BadInputError if a file cannot be read, or is in no known format. MissingExtraError if a package that applies the
    rules is not installed.
    """
    return StaticLayer([rules_of(_json_of(path), path.name) for path in paths])


def _json_of(path: Path) -> Any:
    try:
        return read_json_file(path, _MAX_BYTES).raw
    except BadInputError as error:
        raise BadInputError(f"{error} Expected {EXPECTED}.") from None
