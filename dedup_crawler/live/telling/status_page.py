"""The state of a running crawl as one HTML page (``DEDUP_STATUS``): the drops, and the state of each rule.

The crawl rewrites it every few seconds, and the browser reloads it. It needs no network and no script. Of a site's
texts it contains only rules and hosts, escaped.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from dedup_crawler.errors import BadInputError
from dedup_crawler.live.crawl import FilteredCrawl
from dedup_crawler.live.exploration.rule_life import RuleState
from dedup_crawler.live.models.live_models import LiveModels
from dedup_crawler.methods.model.evidence_file import lost_pages

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


class StatusPage:
    """The file with the page.

    BadInputError if it cannot be written when the crawl starts.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        try:
            self._write("<!doctype html><title>Crawl</title>The crawl begins.")
        except OSError as error:
            raise BadInputError(f"DEDUP_STATUS = {path!r} cannot be written: {error.strerror or error}.") from error

    def show(self, crawl: FilteredCrawl, *, ended: str | None = None) -> None:
        """Write the page; *ended* is the reason why the crawl has ended. Write errors are ignored."""
        states = sorted(crawl.models.evidence.states(), key=lambda state: (-state.n_dropped, state.rule))
        name = getattr(crawl.crawler.spider, "name", "")
        with contextlib.suppress(OSError):
            self._write(html(name, numbers(crawl), _sentences(crawl.models, states), ended))

    def _write(self, text: str) -> None:
        """Replace the file at once, so that a reader never sees half a page."""
        new = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        try:
            new.write_text(text, encoding="utf-8", errors="replace")
            new.replace(self._path)
        except OSError:
            new.unlink(missing_ok=True)
            raise


def numbers(crawl: FilteredCrawl) -> list[Number]:
    """Return the figures of the crawl so far."""
    stats, evidence = crawl.crawler.stats, crawl.models.evidence

    def count(name: str) -> int:
        return int(stats.get_value(f"dedup/request/{name}", 0))

    verdicts = evidence.drops.verdicts(evidence.switched_off)
    lost = lost_pages(verdicts.n_tested, verdicts.n_right, verdicts.n_wrong, verdicts.n_untested)
    n_urls = verdicts.n_tested + verdicts.n_untested
    n_judged = evidence.n_agreed + evidence.n_disagreed
    found = [
        ("fetched", f"{crawl.n_fetched:,}", ""),
        ("duplicate links dropped", f"{count('dropped'):,}", f"{n_urls:,} different URLs"),
        ("fetched to test rules", f"{count('explored'):,}", f"{evidence.n_disagreed} of {n_judged} were wrong"),
    ]
    if would_drop := count("would_drop"):
        found.append(("would have been dropped", f"{would_drop:,}", "dry run: nothing is dropped"))
    if n_urls:
        estimate = "unknown" if lost.estimate is None else f"{lost.estimate:.0f}"
        found.append(("pages lost by estimate", estimate, f"95 %: {lost.low:.0f} to {lost.high:.0f}"))
    if evidence.drops.n_taken_back:
        found.append(("dropped and sent after all", f"{evidence.drops.n_taken_back:,}", ""))
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


def _sentences(models: LiveModels, states: Sequence[RuleState]) -> list[tuple[RuleState, str]]:
    return [(state, models.sentence(state.rule)) for state in states[:_MAX_RULES]]
