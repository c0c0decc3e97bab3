"""The rule miners by allowed false-positive rate: figures 11 and 12 of WWW'10 on recorded sites.

    python benchmarks/sweep.py ../shared/corpora/sites build/results > benchmarks/results/sweep.md

T. Lei et al., WWW 2010, section 5: ``max_fpr`` from 0 to 0.10 in steps of 0.01; compression and dup-reduction, micro
(the URLs of all sites pooled) and macro (mean of the sites), with false-positive rate and recall, because compression
alone rewards merging everything. The judge is the truth on the last quarter of each crawl; labelled databases are read
from the second folder. It takes some minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple
from pathlib import Path
from statistics import mean

from usage import arguments

from dedup_crawler.evaluation.comparison import JudgedCrawl, judged_crawl
from dedup_crawler.evaluation.quality import NormalizationQuality, normalization_quality, read_truth
from dedup_crawler.evaluation.simulated_crawl import CrawlOutcome, replay
from dedup_crawler.methods import METHODS, method_from_spec
from dedup_crawler.methods.model.method_options import options_of
from dedup_crawler.pages.store import PageStore

RATES = [step / 100 for step in range(11)]
VARIANTS = ["rewrite-rules:fan_out=5", "pattern-tree:selection=naive"]

Measured = tuple[NormalizationQuality, CrawlOutcome]


def crawls_of(sites: Path, databases: Path) -> list[JudgedCrawl]:
    """Return all recorded sites with a labelled database."""
    crawls = []
    for database in sorted(databases.glob("*.db")):
        truth = sites / database.stem / "truth.csv.gz"
        if truth.exists():
            with PageStore(database, create=False) as store:
                pages = list(store.labelled_pages())
            crawls.append(judged_crawl(database.stem, pages, read_truth(truth), 0.75))
    return crawls


def measured(spec: str, rate: float, crawl: JudgedCrawl) -> Measured:
    """Fit on the training part, judge on the rest."""
    method = method_from_spec(f"{spec}{',' if ':' in spec else ':'}max_fpr={rate}")
    method.fit(crawl.training.urls, crawl.training.clusters)
    forms = method.canonicalize_many(crawl.test_urls)
    return normalization_quality(forms, crawl.test_pages), replay(forms, crawl.test_pages)


def row(of_sites: Sequence[Measured]) -> str:
    """Return micro and macro values of every measure."""
    qualities = [quality for quality, _ in of_sites]
    outcomes = [outcome for _, outcome in of_sites]
    # URLs of two sites never show one page
    micro = NormalizationQuality(*map(sum, zip(*map(astuple, qualities), strict=True)))
    cells = [micro.compression, mean(quality.compression for quality in qualities)]
    cells += [micro.dup_reduction or 0.0, _mean_where_defined(qualities, lambda quality: quality.dup_reduction)]
    cells += [micro.false_positive_rate, mean(quality.false_positive_rate for quality in qualities)]
    cells += [sum(o.n_covered for o in outcomes) / sum(o.n_needed for o in outcomes), mean(o.recall for o in outcomes)]
    return " | ".join(f"{cell:.3f}" for cell in cells)


def _mean_where_defined(
    qualities: Sequence[NormalizationQuality], value: Callable[[NormalizationQuality], float | None]
) -> float:
    defined = [found for quality in qualities if (found := value(quality)) is not None]
    return mean(defined) if defined else 0.0


def main(sites: Path, databases: Path) -> None:
    """Print one Markdown table per miner."""
    crawls = crawls_of(sites, databases)
    without = [crawl.site for crawl in crawls if len(set(crawl.test_pages)) == len(crawl.test_pages)]
    print(f"Sites: {', '.join(crawl.site for crawl in crawls)}. Micro: URLs pooled; macro: mean of the sites.")
    print("Dup-reduction is not defined for a site without duplicates, which is left out of its macro mean:")
    print(f"{', '.join(without) or 'none of these'}.")
    miners = [name for name, method in METHODS.items() if "max_fpr" in {option.name for option in options_of(method)}]
    for spec in sorted([*miners, *VARIANTS]):
        print(f"\n## {spec}\n")
        print("| max_fpr | compr. | macro | dup-red. | macro | fpr | macro | recall | macro |\n" + "|---" * 9 + "|")
        for rate in RATES:
            print(f"| {rate:.2f} | {row([measured(spec, rate, crawl) for crawl in crawls])} |", flush=True)


if __name__ == "__main__":
    main(*map(Path, arguments(__doc__, 2)))
