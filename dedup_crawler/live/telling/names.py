"""Names that users meet besides the settings: stats and meta keys, with their meaning in Markdown."""

from __future__ import annotations

STATS = {
    "request/processed": "requests that the filter looked at: kept + dropped + explored + would_drop",
    "request/kept": "sent",
    "request/dropped": "not sent: the page is fetched through another URL",
    "request/explored": "sent although they were duplicates, to test the rules",
    "request/would_drop": "duplicates of a dry run, sent",
    "request/covered": "of these three: URLs of a shape that shows nothing new; no URL is fetched in their place",
    "request/released": "sent after all, because the URL fetched in their place failed",
    "request/frozen": "duplicates linked while one page answered for everything (a wall): decided at their turn",
    "request/late": "sent back to the end of the queue, because URLs of their kind mostly repeat pages",
    "request/reloaded": "pages that were fetched twice, to find text that changes with every fetch",
    "request/skipped": "requests that the filter does not look at: robots.txt, media, POST, opted out",
    "dropped/rule/ID": "drops by rule, for the first 200 rules that drop anything; of several rules the first counts",
    "explored/agree": "explorations that found the page they were taken for",
    "explored/disagree": "explorations that found another page",
    "explored/undecided": "explorations whose pages could not be compared",
    "explored/owners": "pages of owners that were fetched once more, to compare an explored page with",
    "rules/switched_off": "rules that were switched off, because they merged different pages",
    "values/switched_off": "single values of candidates that were switched off in the same way",
    "site/frozen": "how often a site suddenly showed one page for everything",
    "models/learnt": "models that the crawl learnt itself and went on with",
    "dropped/unverified": "of the dropped: drops by rules without a decided exploration",
    "lost/estimate": "pages lost, by the explorations: dropped URLs with a page of their own; `unknown` without any",
    "lost/low": "the lower end of its 95 % interval",
    "lost/high": "the upper end",
    "seen/size": "forms known at the end",
    "seen/restored": "forms known from an earlier crawl",
    "seen/unavailable": "requests that passed because the seen set could not be asked",
    "model/unknown_host": "requests to hosts that no model knows; they pass",
}
"""Name below ``dedup/`` -> meaning, in the order of the documentation."""

META_KEYS = {
    "dedup": "`False` opts a request out",
    "dedup_canonical": "the canonical form of the request, for callbacks and errbacks",
    "dedup_reason": "why it was dropped",
}
"""Key of a request's meta -> meaning."""
