"""Hosts that are one site: ``www.example.com`` is ``example.com``, a mirror is what it mirrors.

A rule never leaves its host, so this is none: it says which hosts are read as one before any rule is asked, and speaks
of hosts alone that were both crawled. The unit of evidence is a page that both show under the same path and query;
however many addresses a log-in page has on both, it is one. A wrong alias would lose half a site, so it is judged more
strictly than a rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from dedup_crawler.rules.applying.reading import HostAliases
from dedup_crawler.rules.judging.belief import Belief
from dedup_crawler.rules.judging.judge import UNKNOWN, Evidence
from dedup_crawler.rules.language.site_rules import HostAlias
from dedup_crawler.rules.language.statistics import MergeEvidence
from dedup_crawler.urls.normal import host_of

STRICTER = 5
"""An alias may be wrong so many times less often than a rule."""
_MAX_HOSTS = 20  # that one path is compared on: a crawl of very many hosts is no crawl of one site


def learn_host_aliases(urls: Sequence[str], pages: Sequence[int], belief: Belief) -> HostAliases:
    """Pairs of hosts that show the same under the same paths; each host becomes the one with the shortest name.

    Parameters
    ----------
    urls
        In normal form and crawl order, of all hosts.
    pages
        ``pages[i]`` is what ``urls[i]`` shows, :data:`UNKNOWN` where nobody knows.
    belief
        Decides, and counts the pairs that are tried.
    """
    met = _met_on_both(urls, pages)
    evidence = {}
    for (one, other), found in sorted(met.items()):
        judged = MergeEvidence(*_counted(found))
        may_hold = belief.may_hold(judged.n_groups, judged.n_wrong)
        if may_hold and belief.believes(HostAlias(one, other, judged), Evidence.of(judged), STRICTER):
            evidence[one, other] = judged
    return HostAliases(_to_shortest(evidence))


_Found = set[tuple[int, int]]  # pages that two hosts show under one path


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
    """Different pages met on both hosts, and how many of them are two pages.

    Of a log-in page on the one host that stands for many pages on the other, all these are counted.
    """
    n_right = len({one for one, other in found if one == other})
    wrong = [(one, other) for one, other in found if one != other]
    n_wrong = max(len({one for one, _ in wrong}), len({other for _, other in wrong}))
    return n_right + n_wrong, n_wrong


def _to_shortest(evidence: Mapping[tuple[str, str], MergeEvidence]) -> list[HostAlias]:
    """Each host of a connected group with the one that has the shortest name, and what speaks for it."""
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
