"""Comparison of the errors of rules in continued crawls with their expected errors.

    python benchmarks/reliability.py ../shared/corpora/sites build/results [SITE...]

``verified`` trains on three quarters of each recorded crawl, in the recorded order and in a random one, with each risk
profile; the crawl then continues with the rest. A drop is *wrong* if it shows another page, by truth, than the URL that
was fetched for it. *Expected* is the sum of the posterior errors of the rules of the drops.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from generalization import recorded
from recorded import ALL_NAMES, Crawl, continued

from dedup_crawler.methods.verified import Verified
from dedup_crawler.rules.learning.belief import RISKS, expected_error

ORDERS = (None, 1)
BINS = (0.0025, 0.005, 0.01, 0.02, 1.0)
"""Upper ends of the bins of expected errors."""


@dataclass
class Count:
    """Number of drops, and of wrong ones as expected and as observed."""

    n_drops: int = 0
    n_expected: float = 0.0
    n_wrong: int = 0
    n_lost: int = 0

    def row(self, name: str) -> str:
        """A line of the table."""
        return f"| {name} | {self.n_drops:,} | {self.n_expected:.1f} | {self.n_wrong} | {self.n_lost} |"


def counted(crawl: Crawl, risk: str, counts: dict[str, Count]) -> None:
    """Learn, go on, and count each drop by its profile, its site and the error that was expected."""
    method = crawl.fit(Verified(risk=risk))
    # what holds on the web at large has no groups, and promises nothing
    errors = {rule: expected_error(*groups) for rule, groups in method.rule_evidence().items() if groups[0]}
    went = continued(method, crawl)
    page_of = dict(zip(reversed(crawl.urls), reversed(crawl.pages), strict=True))
    names = [f"profile {risk}", f"site {crawl.name}"]
    for drop in went.dropped:
        url = crawl.urls[drop.place]
        error = max((errors.get(rule, 0.0) for rule in method.fired(url)), default=0.0)
        is_wrong = drop.same_form is not None and page_of[drop.same_form] != crawl.pages[drop.place]
        bound = next(each for each in BINS if error <= each)
        for name in (*names, _bin(bound)):
            counts[name].n_drops += 1
            counts[name].n_expected += error
            counts[name].n_wrong += is_wrong
    for name in names:
        counts[name].n_lost += len(went.lost)


def _bin(bound: float) -> str:
    return f"expected error up to {bound:.2%}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path)
    parser.add_argument("databases", type=Path, help="labelled databases of the sites, as generalization.py makes them")
    parser.add_argument("names", nargs="*", default=ALL_NAMES)
    given = parser.parse_args()
    counts: dict[str, Count] = defaultdict(Count)
    for name in given.names:
        for order in ORDERS:
            crawl = recorded(name, given.sites, given.databases, order)
            for risk in RISKS:
                counted(crawl, risk, counts)
    print("| | drops | expected to be wrong | wrong | pages lost |")
    print("|---|---:|---:|---:|---:|")
    for name in [*(_bin(bound) for bound in BINS), *(f"profile {risk}" for risk in RISKS)]:
        print(counts[name].row(name))
    for name in given.names:
        print(counts[f"site {name}"].row(name))


if __name__ == "__main__":
    main()
