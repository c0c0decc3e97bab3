"""Times in lines of pages: what two fetches of one page may print differently."""

from __future__ import annotations

import re

MAX_CLOCK = 200
"""Characters; a longer line is no clock."""
WHEN = "\2"
"""Stands in the place of times."""

_TIME = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\b\.?)?",
    re.IGNORECASE,
)
_AGO = re.compile(r"\b(?:\d+|an?|one) +(?:second|sec|minute|min|hour|day|week|month|year)s? +ago\b", re.IGNORECASE)
_DURATION = re.compile(r"\b\d+(?:[.,]\d+)?\s?(?:ms|s|secs?|seconds?|milliseconds?)\b", re.IGNORECASE)
_MAY_BE_CLOCK = re.compile(r"\d(?:[-/.:]\d|\s?[ms])", re.IGNORECASE).search  # what every match of the two has


def masked_times(line: str) -> str:
    """The line with dates and times of day masked."""
    return _TIME.sub(WHEN, line)


def masked_ago(text: str) -> str:
    """The text with times told from now ("5 minutes ago") masked."""
    return _AGO.sub(WHEN, text) if " ago" in text else text


def masked_clock(line: str) -> str:
    """The line with dates, times of day and durations masked; the very same string if it has none or is too long."""
    if len(line) > MAX_CLOCK or _MAY_BE_CLOCK(line) is None:
        return line
    masked = _DURATION.sub(WHEN, _TIME.sub(WHEN, line))
    return line if masked == line else masked
