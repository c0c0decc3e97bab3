"""The rules of ClearURLs (``data.min.json``): lists of tracking parameters.

https://docs.clearurls.xyz/1.27.3/specs/rules/. We use ``urlPattern``, ``exceptions``, ``rules`` and
``referralMarketing`` (names of parameters) and ``rawRules`` (texts that are cut out of the URL). We ignore
``redirections`` and ``completeProvider``: they make a browser go elsewhere or block the request, and say nothing about
duplicates.

The patterns come from strangers. RE2 matches them in time linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from dedup_crawler.errors import BadInputError, MissingExtraError
from dedup_crawler.rules.language.identifiers import identifier
from dedup_crawler.urls.normal import host_of, normal_form

_NAME_RULES = ("rules", "referralMarketing")
_LISTS = (*_NAME_RULES, "rawRules", "exceptions")
_MAX_PROVIDERS = 10_000
_MAX_PATTERN = 2_000
_MAX_MEMORY = 2**26


class ClearUrls:
    """The rules of one file: *value* is its JSON, *file* its name, for messages about its rules.

    BadInputError if *value* is not in this format. MissingExtraError if RE2 is not installed.
    """

    kind = "ClearURLs"

    def __init__(self, value: Any, file: str) -> None:
        self.file = file
        self.refused: list[str] = []
        """Reasons why rules were left out because RE2 cannot match them."""
        self._kept: dict[str, dict[str, Any]] = {}
        self._providers: list[_Provider] = []
        self.sentences: dict[str, str] = {}
        """Identifier -> description of the rule."""
        for name, said in _checked_providers(value, file):
            self._take(said, name, f"{file}, provider {_plain(name)}")
        self._matching = _matcher_of([provider.url_pattern for provider in self._providers])

    def applied(self, url: str, off: Collection[str]) -> tuple[str, list[str]]:
        """Apply the rules, except those in *off*, to a URL in normal form; return it and the rules that fired."""
        fired: list[str] = []
        for place in self._matching(url):
            changed, its = self._providers[place].applied(url, off)
            if its and host_of(changed) == host_of(url):  # a pattern may cut into the host by mistake
                url = changed
                fired += its
        return url, fired

    def to_json(self) -> Any:
        """The used rules, in the format of the file."""
        return {"providers": self._kept}

    def _take(self, said: Mapping[str, Any], name: str, place: str) -> None:
        # an exception protects URLs: if it cannot be used, the whole provider is left out
        needed = [said["urlPattern"], *said.get("exceptions", ())]
        if self._usable(needed, place) != needed:
            return
        lists = {each: self._usable(said.get(each, ()), place) for each in _LISTS}
        self._kept[name] = {"urlPattern": said["urlPattern"], **lists}
        provider = _Provider(said["urlPattern"], lists)
        self._providers.append(provider)
        for known, rule in provider.names.items():
            self.sentences[known] = f"{place}: drops parameters named {_plain(rule)}"
        for known, rule in provider.raw.items():
            self.sentences[known] = f"{place}: cuts {_plain(rule)} out of the URL"

    def _usable(self, patterns: Sequence[str], place: str) -> list[str]:
        """The patterns that RE2 can match; the others are refused."""
        reasons = {pattern: _why_not(pattern) for pattern in patterns}
        self.refused += [f"{place}: {reason}" for reason in reasons.values() if reason]
        return [pattern for pattern in patterns if not reasons[pattern]]


class _Provider:
    """The rules for the URLs that one pattern matches."""

    def __init__(self, url_pattern: str, lists: Mapping[str, list[str]]) -> None:
        self.url_pattern = url_pattern
        re2, options = _re2()
        names = list(dict.fromkeys(pattern for each in _NAME_RULES for pattern in lists[each]))
        self.names = {identifier("clearurls", url_pattern, "name", pattern): pattern for pattern in names}
        self.raw = {identifier("clearurls", url_pattern, "raw", pattern): pattern for pattern in lists["rawRules"]}
        self._name_ids = list(self.names)
        self._matching_names = _matcher_of(names, is_whole=True)
        self._raw = [(known, re2.compile(pattern, options)) for known, pattern in self.raw.items()]
        self._excepted = _matcher_of(lists["exceptions"])

    def applied(self, url: str, off: Collection[str]) -> tuple[str, list[str]]:
        if self._excepted(url):
            return url, []
        fired = []
        for known, pattern in self._raw:
            if known not in off:
                shorter = pattern.sub("", url)
                if shorter != url:
                    fired.append(known)
                    url = normal_form(shorter)
        path, question, query = url.partition("?")
        if question:
            kept = []
            for part in query.split("&"):
                matching = [self._name_ids[place] for place in self._matching_names(part.partition("=")[0])]
                used = [known for known in matching if known not in off]
                if used:
                    fired.append(used[0])
                else:
                    kept.append(part)
            if len(kept) < query.count("&") + 1:
                url = f"{path}?{'&'.join(kept)}" if kept else path
        return url, list(dict.fromkeys(fired))


def _matcher_of(patterns: Sequence[str], *, is_whole: bool = False) -> Callable[[str], list[int]]:
    """A function that gives the places of the usable patterns that match an ASCII text (*is_whole*: all of it)."""
    re2, options = _re2()
    known = (re2.Set.FullMatchSet if is_whole else re2.Set.SearchSet)(options)
    for pattern in patterns:
        known.Add(pattern)
    known.Compile()
    return lambda text: sorted(known.Match(text) or ())


def _why_not(pattern: str) -> str:
    """Reason why RE2 cannot match a pattern (lookahead, back references), or should not; empty if it can."""
    re2, options = _re2()
    if len(pattern) > _MAX_PATTERN:
        return f"a pattern of {len(pattern)} characters"
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "no pattern"
        said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        return f"{pattern!r}: {said}"
    except UnicodeEncodeError:
        return "a pattern that is not valid Unicode"
    return ""


def _re2() -> tuple[Any, Any]:
    """RE2, and options for patterns of strangers, which ignore the letter case."""
    try:
        import re2
    except ImportError:
        raise MissingExtraError("reading the rules of ClearURLs", "google-re2", "static") from None
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    return re2, options


def _checked_providers(value: Any, file: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    providers = value.get("providers") if isinstance(value, dict) else None
    if not isinstance(providers, dict) or len(providers) > _MAX_PROVIDERS:
        raise BadInputError(
            f"{file}: expected the providers of ClearURLs by name, as data.min.json of version 1 has them."
        )
    for name, said in providers.items():
        is_right = isinstance(said, dict) and isinstance(said.get("urlPattern"), str)
        if not is_right or not all(_is_list(said.get(each, [])) for each in _LISTS):
            raise BadInputError(f"{file}, provider {_plain(name)}: expected a 'urlPattern' and lists of patterns.")
        yield name, said


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _plain(text: str) -> str:
    """Make the text of a stranger safe for one line of a terminal."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text[:80])
