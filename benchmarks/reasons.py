"""Reasons why duster, the pattern tree and seq2seq do worse than in their papers, each removed separately.

    python benchmarks/reasons.py SITES DATABASES

Each method trains on the first three quarters of a crawl and continues with the rest, judged by truth. One thing is
changed at a time: the labels, the training URLs, one option, or one constant of the method.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from recorded import NAMES, Crawl, continued, labelled_pages, site
from usage import arguments
from what_if import before, cells, fitted, gained, head, row, show, true_labels

from dedup_crawler.methods import method_from_spec
from dedup_crawler.methods.model.explanations import TrainingHistory
from dedup_crawler.methods.seq2seq import Seq2Seq
from dedup_crawler.rules.applying.translations import TranslationTable
from dedup_crawler.rules.miners import duster, node_rules
from dedup_crawler.urls.templates import count_placeholders

Url = Callable[[str], str]
MIN_GROUPS = 20


def main(sites: Path, databases: Path) -> None:
    """Print the tables."""
    crawls = {}
    for name in NAMES:
        pages, truth = labelled_pages(name, sites, databases)
        crawls[name] = site(name, pages, truth)
    print("*In vain*: test URLs that were fetched and brought nothing new; *saved*: share of the avoidable fetches;")
    print("*lost*: pages never fetched, if the crawl goes on and (cold) if it starts with the test URLs.")
    print_duster(crawls)
    print_pattern_tree(crawls)
    print_seq2seq(crawls)


def print_duster(crawls: dict[str, Crawl]) -> None:
    """Print duster: one odd URL spoils a page; seen values are the context; pages have few URLs."""
    head("duster")
    for name, crawl in crawls.items():
        sizes = [n for n in Counter(crawl.labels).values() if n > 1]
        row(name, "as it is", "duster", crawl)
        row(name, "true labels", "duster", true_labels(crawl))
        row(name, f"pairs (max_per_cluster=2); URLs of a repeated page: {sum(sizes) / len(sizes):.1f}",
            "duster:max_per_cluster=2", crawl)  # fmt: skip
        with patch.object(duster, "_MAX_SEEN", 0):
            row(name, "any value where it knows only those it has seen", "duster", crawl)
    forum = crawls["forum"]
    was = continued(forum.fit(method_from_spec("duster")), forum)
    method = fitted("duster", forum, [redirect is None for redirect in forum.redirects])
    way = row("forum", "without the URLs that redirect, in training", method, forum)
    print()
    show("forum, saved without the redirects", forum, gained(was, way))
    wiki = crawls["dokuwiki"]
    was = continued(wiki.fit(method_from_spec("duster")), wiki)
    with patch.object(duster, "_MAX_SEEN", 0):
        after = continued(wiki.fit(method_from_spec("duster")), wiki)
    show("dokuwiki, saved with any value", wiki, gained(was, after))
    lost = [drop for drop in after.dropped if wiki.pages[drop.place] in after.lost]
    show("dokuwiki, lost with any value", wiki, [drop.place for drop in lost], [drop.same_form for drop in lost])


def print_pattern_tree(crawls: dict[str, Crawl]) -> None:
    """Print the pattern tree: prefixes of another depth, slugs, orders of one key, and the paper's overlap."""
    head("pattern-tree")
    ways = {}
    for name, crawl in crawls.items():
        ways[name] = row(name, "as it is", "pattern-tree", crawl)
        row(name, "true labels", "pattern-tree", true_labels(crawl))
        with patch.object(node_rules, "_MIN_OVERLAP", 0.5):
            row(name, "overlap of 0.5, as the paper asks", "pattern-tree", crawl)
    changes: dict[str, tuple[str, Url]] = {
        "ftp": ("`/pub/mirrors/` written `/pub-mirrors/`, of the depth of `/mirror/`", same_depth),
        "forum": ("slugs cut off by a `/` of their own (`/topic/379-a` as `/topic/379/a`)", cut_slug),
        "shop": ("equal names of the query in the order of their values", in_order),
    }
    afters = {}
    for name, (said, change) in changes.items():
        crawl = crawls[name]
        afters[name] = row(name, said, "pattern-tree", replace(crawl, urls=[change(url) for url in crawl.urls]))
    ftp = crawls["ftp"]
    row(
        "ftp",
        "the same with true labels",
        "pattern-tree",
        true_labels(replace(ftp, urls=[same_depth(u) for u in ftp.urls])),
    )
    print()
    for name, after in afters.items():
        show(f"{name}, saved by that", crawls[name], gained(ways[name], after))
    for said, crawl in (("our labels", ftp), ("truth", true_labels(ftp))):
        print(f"- ftp, pages of the training part that {said} know under both aliases: {n_under_both(crawl)}")
    alias = [place for place in ways["ftp"].useless if is_seen(crawls["ftp"], place, short_alias)]
    show("ftp, in vain with its alias (`/mirror/`) among the URLs before", crawls["ftp"], alias)
    slug = [place for place in ways["forum"].useless if is_seen(crawls["forum"], place, without_slug)]
    show("forum, in vain with the same URL but for the slug before", crawls["forum"], slug)
    order = [place for place in ways["shop"].useless if is_seen(crawls["shop"], place, in_order)]
    show("shop, in vain with the same query in another order before", crawls["shop"], order)


def print_seq2seq(crawls: dict[str, Crawl]) -> None:
    """Print the contradictions in the recipe of ``seq2seq``, and the limits of the default on the forum."""
    print(
        "\n## seq2seq: the recipe\n\nNo network: each template is said to become what most of its training pairs say,"
    )
    print(
        "as a network would that has learnt them exactly. *Contradicted*: training pairs that want another target than"
    )
    print("most of their template do.\n")
    print("| site | recipe | pairs | contradicted | in vain | saved | lost | lost cold |\n" + "|---" * 8 + "|")
    lost = {}
    for name, crawl in crawls.items():
        for said, options in RECIPES.items():
            method = ExactSeq2Seq(preset="paper", **options)
            way = continued(crawl.fit(method), crawl)
            print(
                f"| {name} | {said} | {method.n_pairs} | {method.n_against} | {cells(method, crawl, way)} |", flush=True
            )
            if not options:
                lost[name] = [drop for drop in way.dropped if crawl.pages[drop.place] in way.lost]
    print()
    for name, drops in lost.items():
        show(
            f"{name}, lost by the recipe",
            crawls[name],
            [drop.place for drop in drops],
            [drop.same_form for drop in drops],
        )
    print_gate("forum", crawls["forum"])


def print_gate(name: str, crawl: Crawl) -> None:
    """Print for the wasted fetches why the trained translator did not save them."""
    print(f"\n## seq2seq: the default on the {name}\n")
    method = Seq2Seq()
    way = continued(crawl.fit(method), crawl)
    table = method.table_
    why: dict[str, list[int]] = defaultdict(list)
    for place in way.useless:
        translation = table.translations.get(table.templater.split(crawl.urls[place])[0])
        if translation is None:
            why["its template is first met in the test part"].append(place)
        elif not translation.is_used:
            why[f"its template is translated, but has not the evidence ({MIN_GROUPS} merge groups)"].append(place)
        elif table.form(crawl.urls[place]) == crawl.urls[place]:
            why["its template stands for itself"].append(place)
        else:
            why["it was translated, to a form that no URL before has"].append(place)
    said = [(source, each) for source, each in table.translations.items() if each.says != source]
    n_used = sum(each.is_used for _, each in said)
    print(
        f"{len(table.translations)} templates, {len(said)} translated to another, {n_used} of them with the evidence.\n"
    )
    print("| why it was fetched in vain | URLs |\n|---|---|")
    for reason, places in sorted(why.items(), key=lambda entry: -len(entry[1])):
        print(f"| {reason} | {len(places)} |")
    print()
    for reason, places in why.items():
        show(f"{name}, {reason}", crawl, places)
    opened = {source: replace(each, is_used=True) for source, each in table.translations.items()}
    method.table_ = TranslationTable(table.templater, opened)
    print(
        "\nThe same network with the gate open:\n\n| site | in vain | saved | lost | lost cold |\n|---|---|---|---|---|"
    )
    print(f"| {name} | {cells(method, crawl, continued(method, crawl))} |", flush=True)


def same_depth(url: str) -> str:
    """Join two folders of the longer alias into one."""
    return url.replace("/pub/mirrors/", "/pub-mirrors/")


def short_alias(url: str) -> str:
    """Return the file mirror's URL under its shorter alias."""
    return url.replace("/pub/mirrors/", "/mirror/")


def n_under_both(crawl: Crawl) -> int:
    """Return the number of pages that the training part shows under both aliases."""
    aliases: dict[Hashable, set[str]] = defaultdict(set)
    for url, label in zip(crawl.urls, crawl.labels, strict=False):
        aliases[label] |= {
            alias for alias in ("/mirror/", "/pub/mirrors/") if url.split("/", 3)[3].startswith(alias[1:])
        }
    return sum(len(each) == 2 for each in aliases.values())


def cut_slug(url: str) -> str:
    """Make the slug of a topic a separate part of the path."""
    return re.sub(r"/topic/(\d+)-", r"/topic/\1/", url)


def without_slug(url: str) -> str:
    """Return a topic without its slug."""
    return re.sub(r"/topic/(\d+)-[^?/]*", r"/topic/\1", url)


def in_order(url: str) -> str:
    """Return the URL with a sorted query."""
    path, question, query = url.partition("?")
    return path + question + "&".join(sorted(query.split("&")))


def is_seen(crawl: Crawl, place: int, change: Url) -> bool:
    """Return True if *change* makes the URL equal to an earlier URL of the same page."""
    form = change(crawl.urls[place])
    return any(
        crawl.urls[each] != crawl.urls[place] and change(crawl.urls[each]) == form for each in before(crawl, place)
    )


RECIPES: dict[str, dict[str, bool]] = {
    "paper": {},
    "and pages of one URL": {"identity_pairs": True},
    "and one target per template": {"global_targets": True},
    "and both": {"identity_pairs": True, "global_targets": True},
    "and the gate": {"judged_gate": True},
}


class ExactSeq2Seq(Seq2Seq):
    """The translator with a table of the most frequent targets in place of the network."""

    def _learnt(self, counted: Counter[tuple[str, str]], templates: Sequence[str]) -> dict[str, str]:
        votes: dict[str, Counter[str]] = defaultdict(Counter)
        for (source, target), n in counted.items():
            votes[source][target] += n
        said = {source: max(sorted(of), key=of.__getitem__) for source, of in votes.items()}
        self.n_pairs = sum(counted.values())
        self.n_against = self.n_pairs - sum(votes[source][target] for source, target in said.items())
        self.exact_, self.n_epochs_, self.n_parameters_, self.history_ = 1.0, 0, 0, TrainingHistory()
        # as with the network: a target with more arguments than the URL has cannot be written
        return {
            template: target
            if count_placeholders(target := said.get(template, template)) <= count_placeholders(template)
            else template
            for template in templates
        }


if __name__ == "__main__":
    main(*map(Path, arguments(__doc__, 2)))
