"""Summary of a filtered crawl: a progress line each minute, and a few lines and stats at the end."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from dedup_crawler.live.crawl import FilteredCrawl
from dedup_crawler.live.models.live_models import LiveModels
from dedup_crawler.methods.model.evidence_file import lost_pages

MANY_DROPS = 20
"""A rule with this many drops, none of them verified, is named."""
_MAX_NAMED = 10
"""Maximum of named rules."""
_MAX_SENTENCE = 100  # characters of a rule in the progress line


def summary(crawl: FilteredCrawl) -> Iterator[tuple[int, str]]:
    """Yield lines with their levels (of :mod:`logging`); write the final numbers to Scrapy's stats."""
    stats, evidence, is_dry_run = crawl.crawler.stats, crawl.models.evidence, crawl.options.is_dry_run

    def count(name: str) -> int:
        return int(stats.get_value(f"dedup/{name}", 0))

    n_dropped = count("request/would_drop" if is_dry_run else "request/dropped")
    n_judged = evidence.n_agreed + evidence.n_disagreed
    stats.set_value("dedup/seen/size", len(crawl.seen))
    parts = [f"{crawl.n_fetched} fetched"]
    level = logging.INFO
    if is_dry_run:
        parts.append(f"{n_dropped} would have been dropped (dry run)")
        parts.append(_precision(evidence.n_agreed, n_judged, n_dropped))
    else:
        verdicts = evidence.drops.verdicts(evidence.switched_off)
        lost = lost_pages(verdicts.n_tested, verdicts.n_right, verdicts.n_wrong, verdicts.n_untested)
        stats.set_value("dedup/lost/estimate", "unknown" if lost.estimate is None else round(lost.estimate, 1))
        stats.set_value("dedup/lost/low", round(lost.low, 1))
        stats.set_value("dedup/lost/high", round(lost.high, 1))
        stats.set_value("dedup/dropped/unverified", verdicts.n_untested)
        n_left = verdicts.n_tested + verdicts.n_untested
        dropped = f"{n_dropped} dropped"
        if evidence.drops.n_taken_back:
            dropped += f" ({evidence.drops.n_taken_back} URLs of them sent after all)"
        if n_left and not n_judged:
            level = logging.WARNING
            dropped += ", none of them verified"
        parts += [
            dropped,
            f"{count('request/explored')} explored ({evidence.n_disagreed} of {n_judged} compared were other pages)",
            f"{count('request/released')} released",
        ]
        if n_left:
            estimate = "unknown" if lost.estimate is None else f"{lost.estimate:.0f}"
            parts.append(f"pages lost by estimate: {estimate} (95 %: {lost.low:.0f} to {lost.high:.0f})")
    if n_off := count("rules/switched_off"):
        parts.append(f"{n_off} rules switched off")
    yield level, f"Duplicate filter: {', '.join(parts)}."
    if not is_dry_run:
        yield from _unverified(crawl.models)


def progress_line(crawl: FilteredCrawl) -> str:
    """Return the progress line: pages fetched, dropped and tested, and the rule with most drops."""
    stats, evidence = crawl.crawler.stats, crawl.models.evidence
    n_dropped, n_explored = (stats.get_value(f"dedup/request/{name}", 0) for name in ("dropped", "explored"))
    by_rule = evidence.drops.by_rule()
    n_verified = sum(evidence.is_verified([rule]) for rule in by_rule)
    line = (
        f"Filter so far: {crawl.n_fetched} fetched, {n_dropped} dropped, {n_explored} explored "
        f"({evidence.n_disagreed} of {evidence.n_agreed + evidence.n_disagreed} compared were other pages), "
        f"{n_verified} of {len(by_rule)} rules that dropped something are verified"
    )
    if not by_rule:
        return f"{line}."
    rule, n_urls = by_rule.most_common(1)[0]
    sentence = crawl.models.sentence(rule)
    short = sentence if len(sentence) <= _MAX_SENTENCE else f"{sentence[:_MAX_SENTENCE]}..."
    return f"{line}. Most by rule {rule}: {n_urls} URLs ({short})."


def _unverified(models: LiveModels) -> Iterator[tuple[int, str]]:
    """Yield a line for each rule with many drops and without a verdict."""
    counts = models.evidence.drops.by_rule()
    named = sorted(
        (rule for rule in models.evidence.drops.untested_rules() if counts[rule] >= MANY_DROPS),
        key=lambda rule: (-counts[rule], rule),
    )
    for rule in named[:_MAX_NAMED]:
        yield (
            logging.WARNING,
            f"Rule {rule} dropped {counts[rule]} requests, and none of them was verified: {models.sentence(rule)}.",
        )
    if len(named) > _MAX_NAMED:
        yield logging.WARNING, f"{len(named) - _MAX_NAMED} more rules dropped requests of which none was verified."


def _precision(n_agreed: int, n_judged: int, n_dropped: int) -> str:
    if not n_judged:
        return "precision unknown (none could be compared)"
    return f"precision {n_agreed / n_judged:.4f} ({n_agreed} of {n_judged} compared were the same page, of {n_dropped})"
