"""The outcomes of many seeds, as a table in Markdown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from .spec import Family
from .verdict import Outcome


def report(outcomes: Sequence[Outcome], command: str) -> str:
    """Return the page: totals, then a line for each ingredient."""
    n_plain = sum(each.n_plain for each in outcomes)
    n_explored = sum(each.n_explored for each in outcomes)
    unsaid = [each for each in outcomes if each.hidden and not each.is_said]
    rows: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        for name in dict.fromkeys([*map(_named, outcome.spec.families), *outcome.spec.features()]):
            rows[name].append(outcome)
    lines = [
        "# Invented crawls",
        "",
        "Sites, faults and models made of a seed; each is crawled over HTTP without the filter and with it. *Lost* are",
        "pages that the crawl without the filter reaches and the other one does not; *hidden* are such pages whose",
        "difference the site hid until their rule was verified, within what exploration promises. A seed counts in the",
        "line of each ingredient that it has, with all that it saved and lost.",
        "",
        f"    {command}",
        "",
        "| | |",
        "|---|---|",
        f"| seeds | {len(outcomes)} |",
        f"| seeds that lost a page | {sum(bool(each.lost) for each in outcomes)} |",
        f"| seeds with other trouble | {sum(bool(each.trouble) for each in outcomes)} |",
        f"| pages | {sum(each.n_pages for each in outcomes)} |",
        f"| pages lost | {sum(len(each.lost) for each in outcomes)} |",
        f"| pages hidden | {sum(len(each.hidden) for each in outcomes)} |",
        f"| seeds with more hidden than the summary's upper bound | {len(unsaid)} |",
        f"| fetches without the filter | {n_plain} |",
        f"| fetches with it | {sum(each.n_filtered for each in outcomes)} |",
        f"| fetched to test the rules | {n_explored} ({n_explored / max(1, n_plain):.1%} of those without it) |",
        f"| stops (SIGINT) | {sum(each.n_stops for each in outcomes)} |",
        f"| kills (SIGKILL) | {sum(each.n_kills for each in outcomes)} |",
        f"| CPU | {sum(each.cpu_s for each in outcomes) / 60:.1f} min of crawls |",
        "",
        "| ingredient | seeds | pages | lost | hidden | saved |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in sorted(rows.items()):
        n_without, n_filtered = sum(each.n_plain for each in found), sum(each.n_filtered for each in found)
        n_lost, n_hidden = sum(len(each.lost) for each in found), sum(len(each.hidden) for each in found)
        counts = (len(found), sum(each.n_pages for each in found), n_lost, n_hidden)
        saved = f"{1 - n_filtered / max(1, n_without):.0%}"
        lines.append(f"| {name} | {' | '.join(map(str, counts))} | {saved} |")
    return "\n".join(lines) + "\n"


def _named(family: Family) -> str:
    """Return the properties of a family for the table."""
    wrong = "" if family.matters_at is None else ", wrong" if not family.matters_at else ", wrong from a page on"
    fault = "" if family.fault is None else f", {family.fault.what}"
    more = ", redirects" * bool(family.redirects) + ", thin" * family.is_thin + fault
    return f"{family.kind}, {family.links}{wrong}{more}"
