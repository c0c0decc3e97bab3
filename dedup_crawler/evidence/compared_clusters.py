"""The default labeller: clusters by text, joined where two pages are the same in spite of small systematic differences.

Clusters (:mod:`dedup_crawler.labels.clusters`) know nothing of URLs. A heading "Leave a reply to Anna" makes another
page of each link to reply. So each hypothesis about URLs, such as "this key does not matter", proposes pairs of pages,
and the comparer judges them. The hypothesis need not hold everywhere: a wiki's `oldid` mostly shows an old revision,
and sometimes the current one. Pairs of a hypothesis that is often right are joined if they are the same beyond doubt.
"""

from __future__ import annotations

from collections.abc import Sequence

from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.evidence.digests import PageDigests
from dedup_crawler.labels.clusters import cluster_pages
from dedup_crawler.labels.joins import Clustering
from dedup_crawler.labels.layout import Pages
from dedup_crawler.rules.applying.reading import Reading
from dedup_crawler.rules.learning.belief import MIN_GROUPS, UNKNOWN
from dedup_crawler.rules.learning.columns import UrlColumns
from dedup_crawler.rules.learning.hypotheses import Hypothesis, hypotheses
from dedup_crawler.rules.learning.trials import Trials, trials_of
from dedup_crawler.urls.normal import normal_form, places_by_host

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
    urls = [*map(Reading.learn((), urls).read, urls)]
    for host, places in places_by_host(urls).items():
        its_pages = [shown[place] for place in places]
        columns = UrlColumns(host, [urls[place] for place in places], its_pages, evidence.of(places))
        for hypothesis in hypotheses(columns):
            for one, other in _same_pairs(trials_of(hypothesis, columns), columns):
                _join(clustering, places[one], places[other], hypothesis, evidence)
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
