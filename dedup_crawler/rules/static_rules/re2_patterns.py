"""Regular expressions of strangers, matched by RE2 in time linear in the length of the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dedup_crawler.errors import MissingExtraError

_MAX_PATTERN = 2_000
_MAX_MEMORY = 2**26


def compiled_re2(pattern: str) -> Any:
    """Compile a pattern with :func:`re2.compile`, ignoring letter case.

    ValueError if the pattern is invalid, too long, or RE2 does not support it (lookahead, back references).
    MissingExtraError if RE2 is not installed.
    """
    re2 = _re2()
    if len(pattern) > _MAX_PATTERN:
        raise ValueError(f"a pattern of {len(pattern)} characters")
    try:
        return re2.compile(pattern, _options(re2))
    except re2.error as error:
        reason = error.args[0] if error.args else "no pattern"
        said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(f"{pattern!r}: {said}") from None
    except UnicodeEncodeError:
        raise ValueError("a pattern that is not valid Unicode") from None


def why_not(pattern: str) -> str | None:
    """Reason why a pattern cannot be used; None if it can."""
    try:
        compiled_re2(pattern)
    except ValueError as error:
        return str(error)
    return None


class PatternSet:
    """Matches several patterns at once; :func:`compiled_re2` accepts each of them.

    With *is_whole*, a pattern has to match the whole text.
    """

    def __init__(self, patterns: Sequence[str], *, is_whole: bool = False) -> None:
        re2 = _re2()
        make = re2.Set.FullMatchSet if is_whole else re2.Set.SearchSet
        self._set = make(_options(re2))
        for pattern in patterns:
            self._set.Add(pattern)
        self._set.Compile()

    def matching(self, text: str) -> list[int]:
        """Places of the patterns that match an ASCII text, ascending."""
        return sorted(self._set.Match(text) or ())


def _re2() -> Any:
    try:
        import re2
    except ImportError:
        raise MissingExtraError("reading the rules of ClearURLs", "google-re2", "static") from None
    return re2


def _options(re2: Any) -> Any:
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    return options
