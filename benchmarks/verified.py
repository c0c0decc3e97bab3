"""``verified`` by risk profile, its remaining duplicates, mirrors, learning curve, proposers, and its cost.

    python benchmarks/verified.py ../shared/corpora/sites build/results ../shared/corpora/mirrors [SECTION...]

The folders contain the recorded sites, their labelled databases, and mirrors (URLs and content hashes).
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

from ablation import proposing
from knowable import Vain, fetches_in_vain
from made import made_crawl
from recorded import ALL_NAMES, Crawl, continued, labelled_pages, links_in, mirror, shuffled_labels, site
from usage import arguments

from dedup_crawler.evaluation.simulated_crawl import CrawlOutcome
from dedup_crawler.methods import Canonicalizer, make_method
from dedup_crawler.methods.verified import Verified
from dedup_crawler.pages.records import LabelledPage
from dedup_crawler.rules.language.site_rules import Shapes, shape_text
from dedup_crawler.rules.learning.belief import RISKS
from dedup_crawler.rules.learning.proposers import PROPOSERS

SEEDS = (0, 1, 2)
LEARNT_FROM = (300, 1_000, 3_000)
MADE_SIZES = (25_000, 50_000, 100_000)
_EXAMPLES = 12
LOOKED_AT = 1_000
"""Number of analysed wasted fetches of a mirror: each is compared with many URLs in many ways."""


class Benchmark:
    """All sections; crawls and fitted methods are cached."""

    def __init__(self, sites: Path, databases: Path, mirrors: Path) -> None:
        self._sites, self._databases = sites, databases
        self._mirrors = sorted(mirrors.glob("*.jsonl.gz"))
        self.pages = cache(self._pages)
        self.site = cache(lambda name: self.part(name, None))
        self.mirror = cache(lambda number, seed: mirror(self._mirrors[number], seed))
        self.fitted = cache(self._fitted)

    def _pages(self, name: str) -> tuple[list[LabelledPage], dict[str, str]]:
        return labelled_pages(name, self._sites, self._databases)

    def part(self, name: str, n_learnt: int | None) -> Crawl:
        """Return a site of which the first *n_learnt* pages (default: three quarters) are learnt from."""
        return site(name, *self.pages(name), n_learnt, links_of=links_in(self._databases / f"{name}.db"))

    def _fitted(self, risk: str, name: str) -> Canonicalizer:
        """Return ``verified`` trained on a site."""
        return fit(Verified(risk=risk), self.site(name))[0]

    def profiles(self) -> None:
        """Print the three risk profiles."""
        print("## Risk profiles\n\nEach cell: saved, pages lost, rules. The crawl goes on after the first 75 %.\n")
        head("site", *RISKS)
        for name in ALL_NAMES:
            cells = []
            for risk in RISKS:
                method = self.fitted(risk, name)
                warm = self.site(name).warm(method)
                cells.append(f"{warm.saved:.1%}, {warm.n_lost}, {method.n_learnt()}")
            row(name, *cells)

    def left(self) -> None:
        """Print the remaining wasted fetches, and how many of them were knowable."""
        print(
            "\n## What is left\n\n"
            "Wasted fetches of the balanced profile, by what could have been known from the URL (see\n"
            "`benchmarks/knowable.py`): from *our labels* of the training part; only with *true labels* of it; not at\n"
            "all. *Saved of what could be known*: by our labels, and by true labels. Mirrors (one order) have one\n"
            f"kind of labels, their hashes; {LOOKED_AT:,} of their fetches are drawn, and the counts scaled.\n"
        )
        head("site", "avoidable", "saved", "left", "our labels", "true labels only", "not from the URL",
             "saved of what could be known", "... with true labels")  # fmt: skip
        examples: dict[str, list[tuple[str, str, str, int]]] = {}
        for name in ALL_NAMES:
            self._left_of(self.site(name), self.fitted("balanced", name), None, examples)
        for number in range(len(self._mirrors)):
            crawl = self.mirror(number, 0)
            method, _ = fit(Verified(), crawl)
            if crawl.warm(method).n_avoidable:
                self._left_of(crawl, method, LOOKED_AT, examples)
        print("\nExamples, the most frequent kinds of each site:\n")
        head("site", "fetches", "could be known by", "fetched in vain", "the same page, fetched before")
        for name, kinds in examples.items():
            for kind, url, other, n in sorted(kinds, key=lambda kind: -kind[3])[:_EXAMPLES]:
                row(name, n, kind, code(url), code(other))

    def _left_of(
        self,
        crawl: Crawl,
        method: Canonicalizer,
        most: int | None,
        examples: dict[str, list[tuple[str, str, str, int]]],
    ) -> None:
        warm, way = crawl.warm(method), continued(method, crawl)
        vain = fetches_in_vain(crawl, way, most)
        n_vain, scale = len(way.useless), len(way.useless) / max(1, len(vain))
        n_ours = round(scale * sum(bool(each.by_labels) for each in vain))
        n_true = round(scale * sum(bool(each.by_labels or each.by_truth) for each in vain))
        saved = warm.n_avoidable - n_vain
        shares = [f"{saved / (saved + n):.1%}" if saved + n else "-" for n in (n_ours, n_true)]
        row(
            crawl.name, warm.n_avoidable, f"{warm.saved:.1%}", n_vain, n_ours, n_true - n_ours, n_vain - n_true, *shares
        )
        examples[crawl.name] = kinds_of(crawl, vain)

    def mirrors(self) -> None:
        """Print the mirrors, with their lost pages."""
        print(
            "\n## Mirrors\n\n"
            "Real sites of which only URLs and hashes are known, in three shuffled orders; no referrers."
        )
        print("What is equal by coincidence counts as the same page in learning and in judging.\n")
        head("mirror", "order", "URLs", "saved", "lost", "lost per 1,000 needed", "F1 cold", "lost cold", "rules", "s")
        lost: Counter[tuple[str, str, str, str]] = Counter()
        for number in range(len(self._mirrors)):
            for seed in SEEDS:
                crawl = self.mirror(number, seed)
                method, seconds = fit(Verified(), crawl)
                warm, cold = crawl.warm(method), crawl.cold(method)
                counts = *outcome(warm), f"{cold.f1:.3f}", cold.n_lost, method.n_learnt()
                row(crawl.name, seed, f"{len(crawl.urls):,}", *counts, f"{seconds:.1f}")
                lost.update((crawl.name, *kind) for kind in lost_kinds(method, crawl))
        print(
            "\nKinds of lost pages in all orders: the shape of a dropped URL, that of the URL it was taken for, "
            "and why.\n"
        )
        head("mirror", "dropped URLs", "dropped", "taken for", "why")
        for (name, dropped, taken_for, why), n in lost.most_common():
            row(name, n, code(dropped), code(taken_for), why)

    def curve(self) -> None:
        """Print the learning curve."""
        print(
            "\n## Learning curve\n\n"
            "Learnt from the first pages alone; then the crawl goes on with everything that follows.\n"
        )
        head("site", "learnt from", "avoidable", "saved", "lost", "lost per 1,000 needed", "rules")
        for name in ALL_NAMES:
            for n_learnt in (*LEARNT_FROM, None):
                crawl = self.site(name) if n_learnt is None else self.part(name, n_learnt)
                method, _ = fit(Verified(), crawl)
                warm = crawl.warm(method)
                row(name, f"{crawl.cut:,}", f"{warm.n_avoidable:,}", *outcome(warm), method.n_learnt())

    def proposers(self) -> None:
        """Print the gain from proposals of other methods."""
        print(
            "\n## Proposers\n\n"
            "What the miners of the literature propose of the duplicates that are left, and a translator's templates\n"
            "(`train verified --proposals MODEL`; the default preset, trained on the same pages). Each is judged like\n"
            "any other hypothesis. Each cell: saved, pages lost (proposals believed, of those asked). Warm.\n"
        )
        head("proposers", *ALL_NAMES)
        miners = {"none": (), **{name: (name,) for name in PROPOSERS}, "all miners": tuple(PROPOSERS)}
        for title, names in miners.items():
            row(title, *(self._proposed(name, names, None) for name in ALL_NAMES))
        row("seq2seq", *(self._proposed(name, (), self._translator(name)) for name in ALL_NAMES))

    def _proposed(self, name: str, miners: Sequence[str], model: str | None) -> str:
        with proposing(miners) as asked:
            method, _ = fit(Verified(proposals=model), self.site(name))
        assert isinstance(method, Verified)
        warm = self.site(name).warm(method)
        n_believed = sum(rule.origin != Verified.name for rule in method.engine_.rules)
        return f"{warm.saved:.1%}, {warm.n_lost} ({n_believed} of {len(asked)})"

    def _translator(self, name: str) -> str:
        """Return the folder of a translator trained on a site; training takes some minutes."""
        folder = Path("build/translators") / name
        if not folder.is_dir():
            self.site(name).fit(translator := make_method("seq2seq"))
            translator.save(folder)
        return str(folder)

    def shuffled(self) -> None:
        """Print the rules learnt from shuffled labels."""
        print(
            "\n## Shuffled clusters\n\n"
            "The labels of the training part given to other URLs of it: "
            "rules of all kinds that were learnt (wanted: 0).\n"
        )
        head("crawl", *(f"seed {seed}" for seed in SEEDS))
        for crawl in [*map(self.site, ALL_NAMES), *(self.mirror(number, 0) for number in range(len(self._mirrors)))]:
            row(crawl.name, *(fit(Verified(), shuffled_labels(crawl, seed))[0].n_learnt() for seed in SEEDS))

    def speed(self) -> None:
        """Print the time by number of URLs."""
        print(
            "\n## Speed\n\n"
            "Seconds of one core to learn, microseconds of one URL. "
            "The made site (`benchmarks/made.py`) has topics with"
        )
        print("titles, sessions, print views and orders of lists; its sessions are all different.\n")
        head("crawl", "URLs learnt from", "s", "us/URL", "rules")
        for crawl in [*map(self._whole, ALL_NAMES), *map(made_crawl, MADE_SIZES)]:
            method, seconds = fit(Verified(), crawl)
            row(crawl.name, f"{crawl.cut:,}", f"{seconds:.1f}", f"{microseconds(method, crawl):.1f}", method.n_learnt())

    def _whole(self, name: str) -> Crawl:
        """Return a site with all pages to learn from, and their labels from the database."""
        pages, truth = self.pages(name)
        return site(name, pages, truth, len(pages), [page.cluster or 0 for page in pages])


def fit(method: Canonicalizer, crawl: Crawl) -> tuple[Canonicalizer, float]:
    """Train; return the method and the seconds of one core."""
    start = time.process_time()
    crawl.fit(method)
    return method, time.process_time() - start


def microseconds(method: Canonicalizer, crawl: Crawl) -> float:
    """Return the time of one URL, best of nine passes over the test part (without one: over 5,000 URLs)."""
    urls = crawl.urls[crawl.cut :] or crawl.urls[:5_000]
    passes = []
    for _ in range(9):
        start = time.process_time()
        method.canonicalize_many(urls)
        passes.append(time.process_time() - start)
    return min(passes) / len(urls) * 1e6


def outcome(warm: CrawlOutcome) -> tuple[str, int, str]:
    """Return the cells of a continued crawl."""
    return f"{warm.saved:.1%}", warm.n_lost, f"{1000 * warm.n_lost / max(1, warm.n_needed):.1f}"


def kinds_of(crawl: Crawl, vain: Sequence[Vain]) -> list[tuple[str, str, str, int]]:
    """Group wasted fetches by knowable change and by shapes of the two URLs: kind, example and count."""
    shapes = Shapes.learn(crawl.urls)
    groups: dict[tuple[str, object, object], list[Vain]] = defaultdict(list)
    for each in vain:
        kind = f"our labels: {code(each.by_labels)}" if each.by_labels else ""
        kind = kind or (f"true labels: {code(each.by_truth)}" if each.by_truth else "-")
        key = (kind, None, None) if kind != "-" else (kind, shapes.of(each.url), shapes.of(each.other))
        groups[key].append(each)
    return [(kind, group[0].url, group[0].other, len(group)) for (kind, _, _), group in groups.items()]


def lost_kinds(method: Canonicalizer, crawl: Crawl) -> Iterable[tuple[str, str, str]]:
    """Yield the shapes of dropped URLs of lost pages and of the URLs fetched for them, and the rules."""
    shapes = Shapes.learn(crawl.urls)
    way = continued(method, crawl)
    for drop in way.dropped:
        if crawl.pages[drop.place] in way.lost:
            url = crawl.urls[drop.place]
            same = shape_text(shapes.of(drop.same_form)) if drop.same_form else "nothing"
            yield (
                shape_text(shapes.of(url)),
                same,
                method.explain(drop.same_form or url).reason + "; " + method.explain(url).reason,
            )


def code(text: str) -> str:
    """Return text as inline code for a table."""
    return f"`{text.replace('|', '%7C')}`" if text else "-"


def head(*names: str) -> None:
    """Print the head of a table."""
    row(*names)
    print("|" + "---|" * len(names))


def row(*cells: object) -> None:
    """Print one row of a table."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main(sites: str, databases: str, mirrors: str, *wanted: str) -> None:
    """Print all sections, or the *wanted* ones."""
    benchmark = Benchmark(Path(sites), Path(databases), Path(mirrors))
    sections: dict[str, Callable[[], None]] = {
        name: getattr(benchmark, name)
        for name in (
            "profiles",
            "left",
            "mirrors",
            "curve",
            "proposers",
            "shuffled",
            "speed",
        )
    }
    for name in wanted or sections:
        start = time.perf_counter()
        sections[name]()
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(*arguments(__doc__, 3))
