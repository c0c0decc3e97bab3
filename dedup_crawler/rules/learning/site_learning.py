"""Learns rules about a whole site: host aliases, referrer rules and coverage rules. No paper has any of them.

*Host aliases:* ``www.example.com`` shows the pages of ``example.com``, and a mirror those of its original. A rule never
changes the host, so aliases are replaced before rules are applied. Both hosts must have been crawled. The unit of
evidence is a page that both hosts show under the same path and query; a page with many addresses (a log-in form) counts
once.

*Links:* ``/post/4537`` redirects to a page of its topic, and the URL does not say to which. But a link to ``/post/...``
on a page of a topic leads back to that page (a *referrer rule*). And every page that ``/post/...`` shows is shown under
``/topic/...`` too (a *coverage rule*), so all URLs of this shape can be skipped.

A wrong alias loses half a site, and a wrong coverage rule a whole class of pages. So both are judged more strictly than
rules, and a coverage rule is refused if URLs of another shape are mostly found behind its shape. In a crawl that was
stopped early, the last pages were found only one way. Then the pages of the first half decide.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from dedup_crawler.grouping import grouped
from dedup_crawler.rules.language.operations import STAR
from dedup_crawler.rules.language.site_rules import SAME, STRUCTURAL, CoverageRule, HostAlias, ReferrerRule, Shape
from dedup_crawler.rules.language.statistics import MergeEvidence
from dedup_crawler.rules.learning.belief import MIN_GROUPS, UNKNOWN, Belief, Evidence, PairJudge
from dedup_crawler.urls.normal import host_of

STRICTER = 5
"""The allowed error of an alias or a coverage rule is that of another rule, divided by this number."""
_MAX_HOSTS = 20  # hosts on which one path is compared: a crawl of more hosts is no crawl of one site
OLD = 0.5
"""Share (0-1) of the crawl, from its start, whose pages are old enough to have been found both ways."""
MAX_BEHIND = 0.5
"""Largest share (0-1) of the URLs of another shape that may have been found first behind a skipped shape."""
MIN_LINKED = 0.5
"""Smallest share (0-1) of URLs with a known referrer; with fewer, nobody knows what is found behind a shape."""

MAX_PAIRS = 600
"""Most links of one shape that are compared with the pages that hold them."""
MAX_READ_PAGES = 200
"""Most pages with such links whose other links are read, for a rule about short lists."""
MAX_LONG = 0.5
"""Largest share (0-1) of these pages whose links lead elsewhere; where more do, the others may just be empty."""
N_FIRST = 10
"""Number of links after which most shapes are given up."""

Way = tuple[Shape, "tuple[Shape, str] | None", str]
"""One way to a page: the shape of a URL; shape and form of the URL that it redirects to; and its form."""
_Any = TypeVar("_Any")
_Found = set[tuple[int, int]]  # pairs of pages that two hosts show under one path


def learn_host_aliases(urls: Sequence[str], pages: Sequence[int], belief: Belief) -> list[HostAlias]:
    """Find hosts that show the same pages under the same paths; the shortest name of them is the target.

    ``pages[i]`` is the page that ``urls[i]`` shows, :data:`UNKNOWN` if it is not known. *belief* decides about each
    pair of hosts.
    """
    met = _met_on_both(urls, pages)
    evidence = {}
    for (one, other), found in sorted(met.items()):
        judged = _counted(found)
        holds = belief.holds(judged.n_groups, judged.n_wrong)
        if holds and belief.believes(HostAlias(one, other, judged), Evidence.of(judged), STRICTER):
            evidence[one, other] = judged
    return _to_shortest(evidence)


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


def _counted(found: _Found) -> MergeEvidence:
    """Count the pages that were found on both hosts, and those of them that differ.

    If one page of the one host (a log-in form) stands for many pages of the other, all of these count as wrong.
    """
    n_right = len({one for one, other in found if one == other})
    wrong = [(one, other) for one, other in found if one != other]
    n_wrong = max(len({one for one, _ in wrong}), len({other for _, other in wrong}))
    return MergeEvidence(n_right + n_wrong, n_wrong)


def _to_shortest(evidence: Mapping[tuple[str, str], MergeEvidence]) -> list[HostAlias]:
    """Aliases from each host of a connected group to the host with the shortest name."""
    beside = grouped(pair for one, other in evidence for pair in ((one, other), (other, one)))
    aliases = []
    left = set(beside)
    while left:
        target = min(left, key=lambda host: (len(host), host))
        reached = [target]
        left.discard(target)
        for host in reached:
            for other in sorted(left.intersection(beside[host])):
                said = evidence.get((host, other)) or evidence[other, host]
                aliases.append(HostAlias(other, target, said))
                reached.append(other)
                left.discard(other)
    return aliases


@dataclass(frozen=True)
class Links:
    """The crawl of one host; each sequence has one entry for each URL, in crawl order."""

    forms: Sequence[str]
    """Canonical form of each URL, by the rules that were learnt before."""
    pages: Sequence[int]
    """Page that each URL shows; negative if it is not known."""
    referrers: Sequence[int]
    """Place of the referrer if it was crawled earlier, else -1."""
    linked: Collection[tuple[int, int]]
    """Further links: place of a page, and of a URL that it links."""
    names_on: Callable[[int], frozenset[str] | None]
    """Gives the names in all links of a page, by its place; None if they are not known."""
    of_link: Callable[[int, int], tuple[Shape, Shape]]
    """Gives the shapes of a page and of a link on it, by their places."""
    shapes: Sequence[Shape]
    targets: Sequence[tuple[Shape, str] | None]
    """Shape and form of the URL that each URL redirects to; None if it does not redirect."""
    evidence: PairJudge | None
    """Compares two pages, by their places."""
    errors: Collection[int]
    """Pages that are only error messages. Nothing is lost if a coverage rule skips them."""


def learn_referrer_rules(links: Links, belief: Belief) -> dict[ReferrerRule, Sequence[tuple[int, int]]]:
    """Learn referrer rules, each with its pairs of a page and a link on it.

    Most such links name something: they have one of many values for themselves. About others, such as ``tab=files``, a
    rule about single URLs says as much, unless only the links of the page tell where it holds. Links that another rule
    explains count as well: the referrer rule stays if that rule turns out wrong.
    """
    first = {(referrer, place) for place, referrer in enumerate(links.referrers) if referrer >= 0}
    known = (pair for pair in sorted(first.union(links.linked)) if min(links.pages[place] for place in pair) >= 0)
    trials = grouped((links.of_link(*pair), pair) for pair in known)
    found: dict[ReferrerRule, Sequence[tuple[int, int]]] = {}
    for shapes, every in sorted(trials.items()):
        if len({page for page, _ in every}) < MIN_GROUPS:
            continue
        pairs = evenly(every, MAX_PAIRS)
        at_first = _evidence_of_links(links, evenly(pairs, N_FIRST))
        if at_first.n_wrong == at_first.n_groups:  # as for the links of menus: most shapes need no more comparisons
            continue
        is_name = any(value == STAR for key, value in shapes[1] if key not in STRUCTURAL)
        is_excerpt = any(value != SAME for key, value in shapes[1] if key in belief.excerpts)
        if is_name and not is_excerpt and 2 * at_first.n_wrong <= at_first.n_groups:
            evidence = _evidence_of_links(links, pairs)
            rule = ReferrerRule(*shapes, evidence, len({place for _, place in every}))
            if evidence.n_groups >= MIN_GROUPS and belief.believes(rule, Evidence.of(evidence)):
                found[rule] = pairs
                continue
        if (of_short := _of_short_lists(links, shapes, every, belief)) is not None:
            found[of_short[0]] = of_short[1]
    return found


def _of_short_lists(
    links: Links, shapes: tuple[Shape, Shape], every: Sequence[tuple[int, int]], belief: Belief
) -> tuple[ReferrerRule, Sequence[tuple[int, int]]] | None:
    """Learn a rule about the pages without any link that has a certain name in it; None if that does not make it hold.

    A list that goes on has links to its further pages, and shows other entries in another order. Of several names, the
    one that leaves most pages is taken. Without any wrong page there is nothing that a name could tell.
    """
    pairs = evenly(every, MAX_PAIRS)
    is_wrong = _by_page(pairs, _verdicts(links, pairs))
    if not 0 < sum(is_wrong.values()) <= MAX_LONG * len(is_wrong):
        return None
    read = {page: links.names_on(page) for page in evenly(sorted(is_wrong), MAX_READ_PAGES)}
    names_of = {page: names for page, names in read.items() if names is not None}
    n_pages = Counter(name for names in names_of.values() for name in names)
    wrong = [names for page, names in names_of.items() if is_wrong[page]]
    told = frozenset.intersection(*wrong) if wrong else ()
    if not told:
        return None
    name = min(told, key=lambda each: (n_pages[each], each))
    pairs = [pair for pair in pairs if name not in names_of.get(pair[0], {name})]
    evidence = _evidence_of_links(links, pairs)
    rule = ReferrerRule(*shapes, evidence, len({place for _, place in pairs}), name)
    return (rule, pairs) if belief.believes(rule, Evidence.of(evidence)) else None


def evenly(some: Sequence[_Any], n: int) -> Sequence[_Any]:
    """At most *n* of the entries, evenly spaced."""
    return some if len(some) <= n else [some[i * len(some) // n] for i in range(n)]


def _evidence_of_links(links: Links, pairs: Sequence[tuple[int, int]]) -> MergeEvidence:
    """Count the pages that hold these links as merge groups. Silent pairs do not count."""
    verdicts = _verdicts(links, pairs)
    is_wrong = _by_page(pairs, verdicts)
    counts = Counter(verdicts)
    n_links = counts[0] + counts[1]
    n_wrong = max(sum(is_wrong.values()), -(-counts[0] * len(is_wrong) // max(1, n_links)))
    return MergeEvidence(len(is_wrong), n_wrong)


def _verdicts(links: Links, pairs: Sequence[tuple[int, int]]) -> list[int]:
    return verdicts_of(pairs, [page for page, _ in pairs], links.pages, links.evidence)


def verdicts_of(
    pairs: Sequence[tuple[int, int]], groups: Sequence[int], pages: Sequence[int], evidence: PairJudge | None
) -> list[int]:
    """Return 1 for two URLs that show one page, 0 for two pages, something else for silence."""
    verdicts = [int(pages[one] == pages[other]) for one, other in pairs]
    if evidence is None or 0 not in verdicts:
        return verdicts
    return [verdict or its for verdict, its in zip(verdicts, evidence.judge(pairs, groups), strict=True)]


def _by_page(pairs: Sequence[tuple[int, int]], verdicts: Sequence[int]) -> dict[int, bool]:
    """Return for each page that holds links whether one of them is wrong."""
    is_wrong: dict[int, bool] = defaultdict(bool)
    for (page, _), verdict in zip(pairs, verdicts, strict=True):
        if verdict in (0, 1):
            is_wrong[page] |= not verdict
    return is_wrong


def learn_coverage_rules(links: Links, belief: Belief) -> list[CoverageRule]:
    """Learn coverage rules, for shapes with most URLs first. Pages of a skipped shape cover no other shape.

    A URL of the same canonical form covers nothing: another rule already merges the two.
    """
    met = [*zip(links.pages, links.shapes, links.targets, links.forms, strict=True)]
    ways_to = grouped({(page, (shape, target, form)) for page, shape, target, form in met})
    pages_of = grouped({(shape, page) for page, shape, _, _ in met})
    old_of = grouped({(shape, page) for page, shape, _, _ in met[: math.ceil(OLD * len(met))]})
    found: list[CoverageRule] = []
    if sum(referrer >= 0 for referrer in links.referrers) < MIN_LINKED * len(links.referrers):
        return found
    skipped: set[Shape] = set()
    for shape, n_urls in sorted(Counter(links.shapes).items(), key=lambda entry: (-entry[1], entry[0])):
        if len(pages_of[shape]) < MIN_GROUPS:
            continue
        gone = skipped | {shape}
        for pages in (pages_of[shape], old_of[shape]):
            alone = {page for page in pages if not _is_elsewhere(ways_to[page], shape, gone)}
            n_errors = len(alone.intersection(links.errors))  # no evidence: skipping them loses no page
            evidence = MergeEvidence(len(pages) - n_errors, len(alone) - n_errors)
            if is_covered := belief.holds(evidence.n_groups, evidence.n_wrong, STRICTER):
                break
        rule = CoverageRule(shape, evidence, n_urls)
        doubt = "other pages are mostly found through its links" if is_covered and _leads_further(links, shape) else ""
        if belief.believes(rule, Evidence.of(evidence), STRICTER, doubt):
            skipped.add(shape)
            found.append(rule)
    return found


def _is_elsewhere(ways: Collection[Way], shape: Shape, gone: set[Shape]) -> bool:
    """Return True if a page is shown under another form, and neither that URL nor its redirect target is skipped."""
    own = {form for its, _, form in ways if its == shape}
    return any(
        its not in gone and form not in own and (target is None or (target[0] not in gone and target[1] not in own))
        for its, target, form in ways
    )


def _leads_further(links: Links, shape: Shape) -> bool:
    """Return True if URLs of another shape are mostly found behind this one, and show pages of their own."""
    n_linked: Counter[Shape] = Counter()
    behind: dict[Shape, list[int]] = defaultdict(list)
    elsewhere: set[int] = set()
    for place, referrer in enumerate(links.referrers):
        if referrer < 0:
            continue
        n_linked[links.shapes[place]] += 1
        if links.shapes[referrer] == shape:
            behind[links.shapes[place]].append(place)
        elif links.shapes[place] != shape:
            elsewhere.add(links.pages[place])
    return any(
        len(places) > MAX_BEHIND * n_linked[other] and any(links.pages[place] not in elsewhere for place in places)
        for other, places in behind.items()
    )
