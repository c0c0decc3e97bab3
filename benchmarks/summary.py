"""Tables of ratios from the output of pytest-benchmark: ``python benchmarks/summary.py bench.json``."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from usage import arguments


def main(path: str) -> None:
    """Print one table per group, with the speed as a multiple of the slowest member's."""
    results = json.loads(Path(path).read_text(encoding="utf-8"))
    groups: dict[str, list[dict]] = defaultdict(list)
    for result in results["benchmarks"]:
        groups[result["group"] or result["name"]].append(result)
    for group, members in groups.items():
        print(f"\n### {group}\n")
        print("| what | median | rate | times the slowest |\n|---|---|---|---|")
        speeds = {member["name"]: _speed(member) for member in members}
        slowest = min(speeds.values())
        for member in members:
            name = member["name"].removeprefix("test_").replace("_", " ")
            rate = ", ".join(f"{value:,} {what}" for what, value in member["extra_info"].items()) or "-"
            times = speeds[member["name"]] / slowest
            print(f"| {name} | {_time(member['stats']['median'])} | {rate} | {times:,.1f} |")


def _speed(member: dict) -> float:
    rates = [value for what, value in member["extra_info"].items() if what.endswith("per second")]
    return rates[0] if rates else 1 / member["stats"]["median"]


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.2f} ms"


if __name__ == "__main__":
    main(*arguments(__doc__, 1))
