"""The default labeller: clusters by text, joined where two pages are the same in spite of small systematic differences.

Clusters (:mod:`dedup_crawler.labels.clusters`) know nothing of URLs. A heading "Leave a reply to Anna" makes another
page of each link to reply. So each hypothesis about URLs, such as "this key does not matter", proposes pairs of pages,
and the comparer judges them. The hypothesis need not hold everywhere: a wiki's `oldid` mostly shows an old revision,
and sometimes the current one. Pairs of a hypothesis that is often right are joined if they are the same beyond doubt.

A redirect to a URL that was not crawled has the label of a crawled page if the two URLs differ in a value that is known
not to matter: where ``/topic/5?page=1`` is always ``/topic/5``, a redirect to the one shows the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.evidence.digests import PageDigests
from dedup_crawler.labels.clusters import cluster_pages
from dedup_crawler.labels.joins import Clustering
from dedup_crawler.labels.layout import Pages
from dedup_crawler.rules.applying.reading import Reading
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.learning.belief import MIN_GROUPS, RISKS, UNKNOWN, Belief
from dedup_crawler.rules.learning.columns import UrlColumns, map_hash
from dedup_crawler.rules.learning.hypotheses import Hypothesis, hypotheses
from dedup_crawler.rules.learning.trials import Trials, trials_of
from dedup_crawler.rules.learning.verified_rules import RuleLearner
from dedup_crawler.urls.keyvalue import values_of
from dedup_crawler.urls.normal import host_of, normal_form, places_by_host

MIN_RIGHT = 0.4
"""Smallest share (0-1) of right trials, for the pairs of a hypothesis to be joined."""


def compared_clusters(pages: Pages, evidence: PageEvidence | None = None) -> Clustering:
    """Put the pages of a crawl into duplicate clusters of positions in crawl order.

    *pages* gives each URL once, with its text, and is called several times. *evidence* compares these pages, if it is
    known already. Memory holds the digests of all pages, but no texts.
    """
    clustering = cluster_pages(pages)
    if evidence is None:
        evidence = PageEvidence(PageDigests(pages()))
    urls = evidence.digests.urls
    crawled = {None, *urls}
    targets = [page.redirect_to and normal_form(page.redirect_to) for page in pages()]
    shown = [UNKNOWN if to not in crawled else page for page, to in zip(clustering.numbers(), targets, strict=True)]
    read = Reading.learn((), urls).read
    for host, places in places_by_host(map(read, urls)).items():
        its_pages = [shown[place] for place in places]
        columns = UrlColumns(host, [read(urls[place]) for place in places], its_pages, evidence.of(places))
        for hypothesis in hypotheses(columns):
            for one, other in _same_pairs(trials_of(hypothesis, columns), columns):
                _join(clustering, places[one], places[other], hypothesis, evidence)
        outside = {place: read(to) for place in places if (to := targets[place]) and to not in crawled}
        outside = {place: to for place, to in outside.items() if host_of(to) == host}
        for place, shown_by in redirected_to(outside, columns):
            reason = f"it redirects to {targets[place]}, which is the same page by a rule"
            clustering.join(place, places[shown_by], reason)
    return clustering


def _same_pairs(trials: Trials, columns: UrlColumns) -> Sequence[tuple[int, int]]:
    """Return the right pairs of a hypothesis, as places in the crawl of the host; none if it is too often wrong."""
    right = trials.is_right
    if right.sum() < max(MIN_GROUPS, MIN_RIGHT * len(trials)):
        return ()
    rows = columns.first[trials.references[right]].tolist(), columns.first[trials.rows[right]].tolist()
    return [*zip(*rows, strict=True)]


def _join(clustering: Clustering, one: int, other: int, hypothesis: Hypothesis, evidence: PageEvidence) -> None:
    if not clustering.are_same(one, other) and evidence.is_same_beyond_doubt(one, other):
        clustering.join(one, other, f"nothing of their own differs; proposed by the rule: {hypothesis.rule}")


def redirected_to(outside: Mapping[int, str], columns: UrlColumns) -> Iterator[tuple[int, int]]:
    """Pairs of a redirect and the crawled page (place in the crawl of the host) that its target shows.

    *outside* has the URL that each redirect leads to. Such a URL shows a crawled page if sure rules give both one form.
    The learnt rules change *columns*.
    """
    targets = {place: values_of(url) for place, url in outside.items()}
    asked = [
        hypothesis
        for hypothesis in hypotheses(columns)
        if isinstance(rule := hypothesis.rule, Rule) and hypothesis.key and any(map(rule.matches, targets.values()))
    ]
    learner = RuleLearner(columns, Belief(RISKS["safe"]), "labels")
    if not learner.learn_asked(asked):
        return
    rows = {hashed: row for row, hashed in enumerate(columns.hashes.tolist())}
    for place, values in targets.items():
        row = rows.get(map_hash(columns.settled(values)))
        if row is not None:
            yield place, int(columns.first[row])
