"""The text of a site, with the habits of the rules that a method has learnt."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dedup_crawler.rules.language.identifiers import rule_of

if TYPE_CHECKING:
    from dedup_crawler.evidence.comparing import PageEvidence
    from dedup_crawler.evidence.site_text import SiteText
    from dedup_crawler.methods.base import Canonicalizer

MAX_PAIRS = 200
"""Most pairs of pages that are compared to learn the habits of one rule."""
MAX_OF_GROUP = 8
"""Most pairs of one merge group among them."""


def site_text_with_habits(
    method: Canonicalizer,
    urls: Sequence[str],
    evidence: PageEvidence,
    linked: Mapping[str, Sequence[tuple[int, int]]],
) -> SiteText:
    """The text of the site with the habits of the rules of a fitted method; *urls* are in normal form.

    *linked* has the pairs of pages of each referrer rule, by their places.
    """
    first: dict[str, int] = {}
    pairs_of: dict[str, list[tuple[int, int]]] = defaultdict(list)
    n_of: Counter[tuple[str, str]] = Counter()
    for place, (url, form) in enumerate(zip(urls, method.canonicalize_many(urls), strict=True)):
        owner = first.setdefault(form, place)
        if owner == place:
            continue
        fired = (*method.leading(url, form=form), *method.leading(urls[owner], form=form))
        for rule in set(map(rule_of, fired)):
            if n_of[rule, form] < MAX_OF_GROUP and len(pairs_of[rule]) < MAX_PAIRS:
                n_of[rule, form] += 1
                pairs_of[rule].append((owner, place))
    for rule, pairs in linked.items():
        pairs_of[rule] += pairs[:: max(1, len(pairs) // MAX_PAIRS)][:MAX_PAIRS]
    return replace(evidence.site, habits={rule: evidence.habits(pairs) for rule, pairs in sorted(pairs_of.items())})
