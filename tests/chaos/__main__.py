"""``python -m tests.chaos --seeds 0:600``: invent crawls, and report those that lose pages."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from .many import outcomes_of, smallest, told
from .report import report
from .spec import invent, read, written
from .verdict import Outcome


def main() -> int:
    """Run the command; return 1 if a page was lost."""
    arguments = _parser().parse_args()
    if arguments.spec is not None:
        specs = [read(arguments.spec)]
    else:
        first, _, last = arguments.seeds.partition(":")
        specs = [invent(seed) for seed in range(int(first), int(last or int(first) + 1))]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM must end the child processes too
    outcomes: list[Outcome] = []
    started = time.monotonic()
    try:
        for outcome in outcomes_of(specs, arguments.jobs):
            outcomes.append(outcome)
            if not outcome.is_lawful:
                print(told(outcome), flush=True)
                if arguments.log:
                    print(outcome.log)
            _progress(outcomes, len(specs), time.monotonic() - started)
    except KeyboardInterrupt:
        print(f"\nStopped after {len(outcomes)} of {len(specs)} seeds.", file=sys.stderr)
        arguments.shrink = arguments.output = None
    broken = [outcome for outcome in outcomes if not outcome.is_lawful]
    for outcome in broken if arguments.shrink else ():
        print(f"seed {outcome.spec.seed}, shrunk: {written(smallest(outcome))}", flush=True)
    table = report(outcomes, f"python -m tests.chaos --seeds {arguments.seeds}")
    if arguments.output is not None:
        arguments.output.write_text(table, encoding="utf-8")
    else:
        print(table)
    return 1 if broken else 0


def _progress(outcomes: list[Outcome], n_all: int, passed_s: float) -> None:
    n_broken = sum(not outcome.is_lawful for outcome in outcomes)
    left_s = passed_s / len(outcomes) * (n_all - len(outcomes))
    line = f"{len(outcomes)} of {n_all} seeds, {n_broken} break the law, {left_s / 60:.0f} min left"
    if sys.stderr.isatty():
        print(f"\r{line} ", end="" if len(outcomes) < n_all else "\n", file=sys.stderr, flush=True)
    elif len(outcomes) % 10 == 0 or len(outcomes) == n_all:
        print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m tests.chaos",
        description="Invent sites, faults and models, crawl each with and without the filter, and say what was lost.",
        epilog="example: python -m tests.chaos --seeds 0:600 --jobs 2 --output benchmarks/results/chaos.md",
    )
    parser.add_argument(
        "--seeds", default="0:20", help="FIRST:LAST (LAST is not among them), or one seed; default 0:20"
    )
    parser.add_argument("--spec", help="a spec as it is printed, instead of seeds")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--shrink", action="store_true", help="make the specs that break the law smaller")
    parser.add_argument("--log", action="store_true", help="show the log of each crawl that breaks the law")
    parser.add_argument("--output", type=Path, help="file that takes the table; else it is printed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
