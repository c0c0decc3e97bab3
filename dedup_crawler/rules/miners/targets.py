"""Chooses the target of each template, to train a translator of templates.

There are two ways:

* :func:`cluster_targets`, as in SIGIR'17 (section 3): each cluster chooses its URL with the fewest tokens, then with
  the highest sum of document frequencies. Clusters with different templates may contradict each other.
* :func:`global_targets`: of all templates that clusters connect, the template that most URLs can be mapped to is the
  target of all, even for clusters that do not have it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dedup_crawler.grouping import grouped
from dedup_crawler.rules.language.statistics import count_merges
from dedup_crawler.urls.templates import PLACEHOLDER, Arguments, Template, count_placeholders, writer_of

_MAX_PER_CLUSTER = 50  # URLs of one cluster that are compared with each other: the cost grows with the square
_MAX_CANDIDATES = 12  # targets that are tried for one template, the most frequent ones
_MAX_WRONG = 0.10  # the filter of KDD'08, WSDM'10 and SIGIR'17: false-positive rate of a rule on the training pages
_CONSTANTS = {"0": "0", "1": "1"}

Rank = Callable[["TemplatedUrl"], tuple[float, ...]]
"""Sort key, smaller for a better target."""


@dataclass(frozen=True, slots=True)
class TemplatedUrl:
    """A crawled URL with its template, arguments and cluster."""

    url: str
    template: Template
    arguments: Arguments
    cluster: int


@dataclass(frozen=True, slots=True)
class TemplateMapping:
    """A target template and, for each of its arguments, the number of the source's argument (or a constant 0 or 1)."""

    target: Template
    origins: tuple[int | str, ...]

    def written(self) -> Template:
        """The target with the placeholders of the source, as a translator writes it.

        >>> TemplateMapping("http://a.example/t/<num1>?page=<one2>", (2, "1")).written()
        'http://a.example/t/<num2>?page=1'
        """

        def placed(placeholder: str, number: int) -> str:
            origin = self.origins[number - 1]
            return origin if isinstance(origin, str) else f"{placeholder.rstrip('0123456789>')}{origin}>"

        return PLACEHOLDER.sub(lambda match: placed(match[0], int(match[1])), self.target)

    def then(self, following: TemplateMapping) -> TemplateMapping:
        """Follow this mapping by a mapping of its target."""
        origins = tuple(origin if isinstance(origin, str) else self.origins[origin - 1] for origin in following.origins)
        return TemplateMapping(following.target, origins)


def mapping_between(source: TemplatedUrl, target: TemplatedUrl) -> TemplateMapping | None:
    """Find each argument of *target* among the arguments of *source*; None if one is missing."""
    known: dict[str, int | str] = {**_CONSTANTS}
    known.update((argument, i) for i, argument in enumerate(source.arguments, start=1))
    if not known.keys() >= set(target.arguments):
        return None
    return TemplateMapping(target.template, tuple([known[argument] for argument in target.arguments]))


def cluster_targets(urls: Sequence[TemplatedUrl], rank: Rank) -> Counter[tuple[Template, Template]]:
    """Count the (source, target) pairs of all clusters of two or more URLs; targets are also mapped to themselves.

    An argument of the target that the source lacks gets the next free number. A translation with such a number cannot
    be decoded; that is how the paper's method leaves such URLs unchanged (``/prev/10135`` -> ``/98579``).
    """
    pairs: Counter[tuple[Template, Template]] = Counter()
    for members in _repeated(urls):
        target = min(members, key=rank)
        pairs.update((url.template, _paper_target(url, target)) for url in members)
    return pairs


def global_targets(urls: Sequence[TemplatedUrl], rank: Rank) -> dict[Template, TemplateMapping]:
    """Choose one target for all templates of the same pages.

    Returns
    -------
    dict
        Source template -> mapping; templates that are their own target are left out.
    """
    examples = grouped((url.template, url) for url in urls)
    links = _links(urls, examples)
    chosen: dict[Template, TemplateMapping] = {}
    left = {template for target, sources in links.items() for template in (target, *sources)}
    reached = {target: _routes(target, links, left) for target in left}
    while left:
        best = min(left, key=lambda t: (-sum(len(examples[s]) for s in reached[t]), rank(examples[t][0]), t))
        gone = reached[best]
        chosen.update((source, route) for source, route in gone.items() if source != best)
        left -= gone.keys()
        reached.update((t, _routes(t, links, left)) for t in left if not gone.keys().isdisjoint(reached[t]))
    return chosen


Links = dict[Template, dict[Template, TemplateMapping]]
"""Target -> source -> mapping from source to target."""


def _links(urls: Sequence[TemplatedUrl], examples: dict[Template, list[TemplatedUrl]]) -> Links:
    votes: dict[Template, Counter[TemplateMapping]] = defaultdict(Counter)
    for members in _repeated(urls):
        for source, mapping in _mappings_within(members[:_MAX_PER_CLUSTER]):
            votes[source][mapping] += 1
    known = {url.url: url.cluster for url in urls}
    links: Links = defaultdict(dict)
    for source, mappings in votes.items():
        for mapping, n_clusters in mappings.most_common(_MAX_CANDIDATES):
            if n_clusters > 1 and _holds(mapping, examples[source], known):
                links[mapping.target].setdefault(source, mapping)
    return links


def _mappings_within(members: Sequence[TemplatedUrl]) -> set[tuple[Template, TemplateMapping]]:
    representatives: dict[Template, TemplatedUrl] = {}
    for url in members:
        representatives.setdefault(url.template, url)
    return {
        (source.template, mapping)
        for source in members
        for target in representatives.values()
        if target.template != source.template and (mapping := mapping_between(source, target)) is not None
    }


def _holds(mapping: TemplateMapping, sources: Sequence[TemplatedUrl], known: dict[str, int]) -> bool:
    """Return True if at most 10 % of the merged forms are shared by different pages."""
    write = writer_of(mapping.written())
    forms = [write(*source.arguments) for source in sources]
    others = [(form, known[form]) for form in set(forms) if form in known]
    counted = count_merges(forms, [source.cluster for source in sources], others).evidence
    return counted.n_wrong <= _MAX_WRONG * counted.n_groups


def _routes(target: Template, links: Links, allowed: set[Template]) -> dict[Template, TemplateMapping]:
    """Shortest chain of mappings to *target* from every template that reaches it, itself included."""
    routes = {target: TemplateMapping(target, tuple(range(1, count_placeholders(target) + 1)))}
    frontier = [target]
    for reached in frontier:  # grows: the shortest chain comes first
        for source, mapping in links.get(reached, {}).items():
            if source in allowed and source not in routes:
                routes[source] = mapping.then(routes[reached])
                frontier.append(source)
    return routes


def _repeated(urls: Sequence[TemplatedUrl]) -> list[list[TemplatedUrl]]:
    """The URLs of each cluster of two or more."""
    clusters = grouped((url.cluster, url) for url in urls)
    return [members for members in clusters.values() if len(members) > 1]


def _paper_target(source: TemplatedUrl, target: TemplatedUrl) -> Template:
    numbers = {argument: i for i, argument in enumerate(source.arguments, start=1)}
    origins = tuple(numbers.setdefault(argument, len(numbers) + 1) for argument in target.arguments)
    return TemplateMapping(target.template, origins).written()
