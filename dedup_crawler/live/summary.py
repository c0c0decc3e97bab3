"""What a filtered crawl came to, in one line and in its stats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedup_crawler.evaluation.lost_pages import lost_pages

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from dedup_crawler.live.exploration.rule_evidence import RuleEvidence


def summary(crawler: Crawler, evidence: RuleEvidence, n_fetched: int, n_seen: int, *, is_dry_run: bool) -> str:
    """One line of totals; the numbers that Scrapy's stats lack are written there."""
    stats = crawler.stats

    def count(name: str) -> int:
        return int(stats.get_value(f"dedup/{name}", 0))

    n_dropped = count("request/would_drop" if is_dry_run else "request/dropped")
    n_agreed, n_wrong = evidence.n_agreed, evidence.n_disagreed
    n_judged = n_agreed + n_wrong
    stats.set_value("dedup/seen/size", n_seen)
    parts = [f"{n_fetched} fetched"]
    if is_dry_run:
        parts.append(f"{n_dropped} would have been dropped (dry run)")
        parts.append(_precision(n_agreed, n_judged, n_dropped))
    else:
        lost = lost_pages(n_dropped, n_agreed, n_wrong)
        stats.set_value("dedup/lost/estimate", round(lost.estimate, 1))
        stats.set_value("dedup/lost/low", round(lost.low, 1))
        stats.set_value("dedup/lost/high", round(lost.high, 1))
        parts += [
            f"{n_dropped} dropped",
            f"{count('request/explored')} explored ({n_wrong} of {n_judged} compared were other pages)",
            f"{count('request/released')} released",
        ]
        if n_judged:
            parts.append(
                f"{lost.estimate:.0f} of the dropped lost by estimate (95 %: {lost.low:.0f} to {lost.high:.0f})"
            )
    if n_off := count("rules/switched_off"):
        parts.append(f"{n_off} rules switched off")
    return f"Duplicate filter: {', '.join(parts)}."


def _precision(n_agreed: int, n_judged: int, n_dropped: int) -> str:
    if not n_judged:
        return "precision unknown (none could be compared)"
    return f"precision {n_agreed / n_judged:.4f} ({n_agreed} of {n_judged} compared were the same page, of {n_dropped})"
