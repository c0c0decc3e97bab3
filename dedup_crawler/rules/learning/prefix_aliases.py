"""Hypotheses that one folder is another, with whatever is below: ``/pub/mirrors/...`` is ``/mirror/...``.

The keys of a map stand at their places, so that an alias of another depth moves them all. A substring rule at the start
of the path says it once (Z. Bar-Yossef, I. Keidar, U. Schonfeld, "Do not crawl in the DUST", WWW 2007).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from dedup_crawler.errors import BadInputError
from dedup_crawler.rules.judging.judge import UNKNOWN
from dedup_crawler.rules.language.substring_rule import SubstringRule
from dedup_crawler.rules.learning.columns import UrlColumns
from dedup_crawler.urls.tokens import different_starts

MIN_PAGES = 8
"""Pages that make a proposal, at least."""
MAX_PROPOSALS = 10
_MAX_URLS = 6  # of one page


def prefix_aliases(columns: UrlColumns) -> list[SubstringRule]:
    """Rules from the longer to the shorter start, those that most pages propose first."""
    rests: dict[int, list[str]] = defaultdict(list)
    for row, page in enumerate(columns.alike.tolist()):
        if page != UNKNOWN and len(rests[page]) < _MAX_URLS:
            rests[page].append(columns.rest(row))
    votes: Counter[tuple[str, str]] = Counter()
    for its in rests.values():
        votes.update(set(_starts(sorted(its))))
    enough = sorted(((-n, old, new) for (old, new), n in votes.items() if n >= MIN_PAGES))
    return [rule for _, old, new in enough[:MAX_PROPOSALS] if (rule := _rule(columns.host, old, new)) is not None]


def _starts(rests: list[str]) -> Iterator[tuple[str, str]]:
    for place, one in enumerate(rests):
        for other in rests[place + 1 :]:
            left, right = different_starts(one, other)
            if left and right and left != right:
                yield (left, right) if (len(left), left) > (len(right), right) else (right, left)


def _rule(host: str, old: str, new: str) -> SubstringRule | None:
    if "?" in old or old[-1].isalnum() or new[-1].isalnum() or not new.startswith("/"):
        return None
    try:
        return SubstringRule(host, old, new, at_start=True)
    except BadInputError:
        return None  # not in normal form
