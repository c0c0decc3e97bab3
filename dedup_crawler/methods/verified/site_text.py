"""Knowledge with which a crawl compares pages as learning did: the text of the site, and the habits of rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dedup_crawler.methods.base import Canonicalizer

if TYPE_CHECKING:
    from dedup_crawler.evidence.comparing import PageEvidence
    from dedup_crawler.evidence.site_text import SiteText

MAX_PAIRS = 200
"""Most pairs of pages that are looked at for one rule, the first ones that it makes one."""
MAX_OF_GROUP = 8
"""Most pairs of one merge group that are looked at; some rules have one group only."""


def learnt_site_text(model: Canonicalizer, urls: Sequence[str], evidence: PageEvidence) -> SiteText:
    """The text of the site with the habits of the rules that a fitted model has learnt from *urls*, in normal form."""
    forms = model.canonicalize_many(urls)
    first: dict[str, int] = {}
    pairs_of: dict[str, list[tuple[int, int]]] = defaultdict(list)
    n_of: Counter[tuple[str, str]] = Counter()
    for place, (url, form) in enumerate(zip(urls, forms, strict=True)):
        owner = first.setdefault(form, place)
        if owner == place:
            continue
        for rule in {*model.leading(url, form=form), *model.leading(urls[owner], form=form)}:
            if n_of[rule, form] < MAX_OF_GROUP and len(pairs_of[rule]) < MAX_PAIRS:
                n_of[rule, form] += 1
                pairs_of[rule].append((owner, place))
    return replace(evidence.site, habits={rule: evidence.habits(pairs) for rule, pairs in sorted(pairs_of.items())})
