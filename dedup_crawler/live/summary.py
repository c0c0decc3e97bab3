"""The state of a filtered crawl: a progress line each minute, lines and stats at the end, a page (``DEDUP_STATUS``).

The crawl rewrites the page every few seconds, and the browser reloads it. It needs no network and no script. Of a
site's texts it contains only rules and hosts, escaped.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from dedup_crawler.errors import BadInputError
from dedup_crawler.live.crawl import FilteredCrawl
from dedup_crawler.live.exploration.rule_life import RuleState
from dedup_crawler.live.models.live_models import LiveModels
from dedup_crawler.methods.model.evidence_file import LostPages
from dedup_crawler.methods.model.folder import write_whole

MANY_DROPS = 20
"""A rule with this many drops, none of them verified, is named."""
_MAX_NAMED = 10
"""Maximum of named rules."""
_MAX_SENTENCE = 100  # characters of a rule in the progress line
INTERVAL_S = 5.0
_MAX_RULES = 200
_MEANINGS = {
    "verified": "tested as often as its drops are worth",
    "being tested": "more tests are to come, at the latest when nothing else is left to fetch",
    "doubted": "a test went wrong, so it drops nothing until others outweigh it",
    "held back": "its tests could not be decided, so it drops nothing",
    "not tested": "DEDUP_EXPLORATION is 0",
    "switched off": "it merged different pages; what it had dropped was sent after all",
}
_STYLE = """
:root { color-scheme: light dark; --line: #8886; --muted: #777; --card: #8881; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: .3rem 0; } h2 { font-size: 1.15rem; margin: 1.8rem 0 .3rem; }
.muted { color: var(--muted); font-size: .9rem; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .7rem; margin: 1rem 0; }
dl div { background: var(--card); border-radius: .5rem; padding: .6rem .8rem; }
dt { color: var(--muted); font-size: .85rem; } dd { margin: 0; font-size: 1.4rem; font-weight: 600; }
dd small { display: block; font-size: .8rem; font-weight: 400; color: var(--muted); }
li { margin: .8rem 0; padding-top: .8rem; border-top: 1px solid var(--line); } ul { list-style: none; padding: 0; }
b { font-variant-numeric: tabular-nums; }
"""

Number = tuple[str, str, str]
"""Name of a figure, its value, and a note."""


def summary(crawl: FilteredCrawl) -> Iterator[tuple[int, str]]:
    """Yield lines with their levels (of :mod:`logging`); write the final numbers to Scrapy's stats."""
    stats, evidence, is_dry_run = crawl.crawler.stats, crawl.models.evidence, crawl.options.is_dry_run
    count = crawl.report.counted
    n_dropped = count("request/would_drop" if is_dry_run else "request/dropped")
    n_judged = evidence.n_agreed + evidence.n_disagreed
    stats.set_value("dedup/seen/size", len(crawl.seen))
    parts = [f"{crawl.n_fetched} fetched"]
    level = logging.INFO
    if is_dry_run:
        parts.append(f"{n_dropped} would have been dropped (dry run)")
        same = f"{evidence.n_agreed} of {n_judged} compared were the same page, of {n_dropped}"
        share = f"{evidence.n_agreed / n_judged:.4f} ({same})" if n_judged else "unknown (none could be compared)"
        parts.append(f"precision {share}")
    else:
        verdicts = evidence.verdicts()
        lost = verdicts.lost()
        stats.set_value("dedup/lost/estimate", "unknown" if lost.estimate is None else round(lost.estimate, 1))
        stats.set_value("dedup/lost/low", round(lost.low, 1))
        stats.set_value("dedup/lost/high", round(lost.high, 1))
        stats.set_value("dedup/dropped/unverified", verdicts.n_untested)
        n_left = verdicts.n_tested + verdicts.n_untested
        dropped = f"{n_dropped} dropped"
        if evidence.n_taken_back:
            dropped += f" ({evidence.n_taken_back} URLs of them sent after all)"
        if n_left and not n_judged:
            level = logging.WARNING
            dropped += ", none of them verified"
        parts += [
            dropped,
            f"{count('request/explored')} explored ({evidence.n_disagreed} of {n_judged} compared were other pages)",
            f"{count('request/released')} released",
        ]
        if n_left:
            estimate, interval = _said(lost)
            parts.append(f"pages lost by estimate: {estimate} ({interval})")
    if n_off := count("rules/switched_off"):
        parts.append(f"{n_off} rules switched off")
    yield level, f"Duplicate filter: {', '.join(parts)}."
    if crawl.learnt is not None and not count("models/learnt") + count("request/processed"):
        yield (
            logging.INFO,
            f"No model was learnt before the crawl ended (DEDUP_LEARN_AFTER = {crawl.options.learn_after}), "
            "so nothing could be dropped.",
        )
    if not is_dry_run:
        yield from _unverified(crawl.models)


def progress_line(crawl: FilteredCrawl) -> str:
    """Return the progress line: pages fetched, dropped and tested, and the rule with most drops."""
    evidence = crawl.models.evidence
    n_dropped, n_explored = map(crawl.report.counted, ("request/dropped", "request/explored"))
    by_rule = evidence.n_dropped()
    n_verified = sum(map(evidence.is_verified, by_rule))
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
    counts = models.evidence.n_dropped()
    named = sorted(
        (rule for rule in models.evidence.untested_rules() if counts[rule] >= MANY_DROPS),
        key=lambda rule: (-counts[rule], rule),
    )
    for rule in named[:_MAX_NAMED]:
        yield (
            logging.WARNING,
            f"Rule {rule} dropped {counts[rule]} requests, and none of them was verified: {models.sentence(rule)}.",
        )
    if len(named) > _MAX_NAMED:
        yield logging.WARNING, f"{len(named) - _MAX_NAMED} more rules dropped requests of which none was verified."


def _said(lost: LostPages) -> tuple[str, str]:
    """Return the estimate and the interval as text."""
    estimate = "unknown" if lost.estimate is None else f"{lost.estimate:.0f}"
    return estimate, f"95 %: {lost.low:.0f} to {lost.high:.0f}"


def begin_status(path: str) -> None:
    """Write the first page; BadInputError if it cannot be written."""
    try:
        write_whole(Path(path), b"<!doctype html><title>Crawl</title>The crawl begins.")
    except OSError as error:
        raise BadInputError(f"DEDUP_STATUS = {path!r} cannot be written: {error.strerror or error}.") from error


def show_status(crawl: FilteredCrawl, ended: str | None = None) -> None:
    """Write the page, if there is one; *ended* is the reason why the crawl has ended. Write errors are ignored."""
    if crawl.options.status is None:
        return
    states = sorted(crawl.models.evidence.states(), key=lambda state: (-state.n_dropped, state.rule))
    rules = [(state, crawl.models.sentence(state.rule)) for state in states[:_MAX_RULES]]
    page = html(getattr(crawl.crawler.spider, "name", ""), numbers(crawl), rules, ended)
    with contextlib.suppress(OSError):
        write_whole(Path(crawl.options.status), page.encode("utf-8", "replace"))


def numbers(crawl: FilteredCrawl) -> list[Number]:
    """Return the figures of the crawl so far."""
    count, evidence = crawl.report.counted, crawl.models.evidence
    verdicts = evidence.verdicts()
    n_urls = verdicts.n_tested + verdicts.n_untested
    n_judged = evidence.n_agreed + evidence.n_disagreed
    found = [
        ("fetched", f"{crawl.n_fetched:,}", ""),
        ("duplicate links dropped", f"{count('request/dropped'):,}", f"{n_urls:,} different URLs"),
        ("fetched to test rules", f"{count('request/explored'):,}", f"{evidence.n_disagreed} of {n_judged} were wrong"),
    ]
    if would_drop := count("request/would_drop"):
        found.append(("would have been dropped", f"{would_drop:,}", "dry run: nothing is dropped"))
    if n_urls:
        found.append(("pages lost by estimate", *_said(verdicts.lost())))
    if evidence.n_taken_back:
        found.append(("dropped and sent after all", f"{evidence.n_taken_back:,}", ""))
    return found


def html(name: str, facts: Iterable[Number], rules: Sequence[tuple[RuleState, str]], ended: str | None) -> str:
    """Return the page; *rules* are states with the sentences of the rules."""
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    refresh = "" if ended is not None else f'<meta http-equiv="refresh" content="{INTERVAL_S:.0f}">'
    said = f"It ended ({escape(ended)}) at {now}." if ended is not None else f"It is running; this is of {now}."
    cards = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}<small>{escape(note)}</small></dd></div>"
        for name, value, note in facts
    )
    items = "".join(
        f"<li><b>{state.n_dropped:,}</b> URLs dropped, <b>{state.n_tested:,}</b> tested, "
        f"<b>{state.n_wrong:,}</b> wrong: {escape(state.standing)}<br>{escape(sentence)}"
        f'<br><span class="muted">rule {escape(state.rule)}</span></li>'
        for state, sentence in rules
    )
    legend = "; ".join(f"<i>{name}</i>: {escape(meaning)}" for name, meaning in _MEANINGS.items())
    table = f'<p class="muted">{legend}.</p><ul>{items}</ul>' if items else "<p>No rule has dropped anything yet.</p>"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{refresh}'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>Crawl {escape(name)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>Crawl {escape(name)}</h1>"
        f'<p class="muted">{said}</p><dl>{cards}</dl><h2>Rules</h2>{table}</body></html>'
    )
