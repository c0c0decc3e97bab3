"""Learns host aliases: ``www.example.com`` shows the pages of ``example.com``, and a mirror those of its original.

A rule never changes the host, so aliases are replaced before rules are applied. Both hosts must have been crawled. The
unit of evidence is a page that both hosts show under the same path and query; a page with many addresses (a log-in
form) counts once. A wrong alias would lose half a site, so aliases are judged more strictly than rules.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from dedup_crawler.rules.judging.belief import Belief
from dedup_crawler.rules.judging.judge import UNKNOWN, Evidence
from dedup_crawler.rules.language.site_rules import HostAlias
from dedup_crawler.rules.language.statistics import MergeEvidence
from dedup_crawler.urls.normal import host_of

STRICTER = 5
"""The allowed error of an alias is that of a rule, divided by this number."""
_MAX_HOSTS = 20  # hosts on which one path is compared: a crawl of more hosts is no crawl of one site


def learn_host_aliases(urls: Sequence[str], pages: Sequence[int], belief: Belief) -> list[HostAlias]:
    """Find hosts that show the same pages under the same paths; the shortest name of them is the target.

    Parameters
    ----------
    urls
        URLs of all hosts, in normal form and crawl order.
    pages
        ``pages[i]`` is the page that ``urls[i]`` shows, :data:`UNKNOWN` if it is not known.
    belief
        Decides about each pair of hosts.
    """
    met = _met_on_both(urls, pages)
    evidence = {}
    for (one, other), found in sorted(met.items()):
        judged = MergeEvidence(*_counted(found))
        may_hold = belief.may_hold(judged.n_groups, judged.n_wrong)
        if may_hold and belief.believes(HostAlias(one, other, judged), Evidence.of(judged), STRICTER):
            evidence[one, other] = judged
    return _to_shortest(evidence)


_Found = set[tuple[int, int]]  # pairs of pages that two hosts show under one path


def _met_on_both(urls: Sequence[str], pages: Sequence[int]) -> Mapping[tuple[str, str], _Found]:
    shown: dict[str, dict[str, int]] = defaultdict(dict)
    met: dict[tuple[str, str], _Found] = defaultdict(set)
    for url, page in zip(urls, pages, strict=True):
        host = host_of(url)
        behind = url.partition("://")[2]
        on_hosts = shown[behind[behind.find("/") :]]
        if page == UNKNOWN or not host or host in on_hosts:
            continue
        for other, its_page in list(on_hosts.items())[:_MAX_HOSTS]:
            pair, both = ((host, other), (page, its_page)) if host < other else ((other, host), (its_page, page))
            met[pair].add(both)
        on_hosts[host] = page
    return met


def _counted(found: _Found) -> tuple[int, int]:
    """Number of pages that were found on both hosts, and how many of them differ.

    If one page of the one host (a log-in form) stands for many pages of the other, all of these count as wrong.
    """
    n_right = len({one for one, other in found if one == other})
    wrong = [(one, other) for one, other in found if one != other]
    n_wrong = max(len({one for one, _ in wrong}), len({other for _, other in wrong}))
    return n_right + n_wrong, n_wrong


def _to_shortest(evidence: Mapping[tuple[str, str], MergeEvidence]) -> list[HostAlias]:
    """Aliases from each host of a connected group to the host with the shortest name."""
    beside: dict[str, set[str]] = defaultdict(set)
    for one, other in evidence:
        beside[one].add(other)
        beside[other].add(one)
    aliases = []
    left = set(beside)
    while left:
        target = min(left, key=lambda host: (len(host), host))
        reached = [target]
        left.discard(target)
        for host in reached:
            for other in sorted(beside[host] & left):
                said = evidence.get((host, other)) or evidence[other, host]
                aliases.append(HostAlias(other, target, said))
                reached.append(other)
                left.discard(other)
    return aliases
