"""Labels the crawl in a page store: reads main texts, then makes scores and clusters.

Reading the texts takes nearly all of the time. Each text is read once and stored at once, so an interrupted run
continues where it stopped. Scores and clusters are made anew each time, because a new page may join two old clusters.

The default labeller takes the clusters by text (:mod:`dedup_crawler.labels.clusters`), and joins them where two pages
are the same in spite of small systematic differences. Clusters by text know nothing of URLs: a heading "Leave a reply
to Anna" makes another page of each link to reply. So each hypothesis about URLs, such as "this key does not matter",
proposes pairs of pages, and the comparer judges them. The hypothesis need not hold everywhere: a wiki's `oldid` mostly
shows an old revision, and sometimes the current one. Pairs of a hypothesis that is often right are joined if they are
the same beyond doubt.

A redirect to a URL that was not crawled has the label of a crawled page if the two URLs differ in a value that is known
not to matter: where ``/topic/5?page=1`` is always ``/topic/5``, a redirect to the one shows the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from dedup_crawler.errors import BadInputError, did_you_mean
from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.evidence.digests import PageDigests
from dedup_crawler.labels.clusters import REORDERED, cluster_pages
from dedup_crawler.labels.joins import Clustering
from dedup_crawler.labels.layout import Pages
from dedup_crawler.labels.lines import lines_of, n_words
from dedup_crawler.labels.main_text import TextReader
from dedup_crawler.labels.published import cluster_by_cosine, cluster_by_simhash, score_pairs
from dedup_crawler.pages.records import LabelledPage
from dedup_crawler.rules.applying.reading import Reading
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.learning.belief import MIN_GROUPS, RISKS, UNKNOWN, Belief
from dedup_crawler.rules.learning.columns import UrlColumns, map_hash
from dedup_crawler.rules.learning.hypotheses import hypotheses
from dedup_crawler.rules.learning.trials import Trials, trials_of
from dedup_crawler.rules.learning.verified_rules import RuleLearner
from dedup_crawler.urls.keyvalue import values_of
from dedup_crawler.urls.normal import host_of, normal_form, places_by_host

if TYPE_CHECKING:
    from dedup_crawler.pages.store import PageStore

MIN_RIGHT = 0.4
"""Smallest share (0-1) of right trials, for the pairs of a hypothesis to be joined."""
BATCH_PAGES = 100
"""Pages in one batch of texts; an interrupted run reads at most one batch again."""
REPORTED_SKIPS = 100
MIN_SINK_URLS = 10
"""Smallest number of URLs of a sink."""
MIN_SINK_SHARE = 0.02
"""Smallest share (0-1) of all URLs that lead to a sink."""
MAX_SINK_WORDS = 100
"""Largest number of words of a sink in lines that are not common; error pages may have more."""
COMMON_SHARE = 0.05
"""A line is common if it is on more than this share (0-1) of the pages, and above the limit by SHARED."""
SHARED = 1.5
"""A line is common if it is on more than this number of pages for each URL of the cluster, and above COMMON_SHARE."""

Progress = Callable[[str, int], None]
"""Called with the step (``main text``, ``scores``, ``clusters``) and the number of pages done."""


@dataclass(frozen=True, slots=True)
class Sink:
    """A cluster to which very many URLs lead: the log-in form, the not-found page, the empty result."""

    cluster: int
    n_urls: int
    url: str
    """First URL of the cluster."""
    title: str


@dataclass(frozen=True, slots=True)
class LabelReport:
    """Results of a run of :func:`label_store`."""

    n_pages: int
    n_cleaned: int
    """Number of pages whose text was read in this run."""
    n_without_text: int
    """Number of pages without text, which only redirects and digests can join."""
    n_skipped: int
    """Number of pages whose text could not be read in this run."""
    skipped: tuple[tuple[str, str], ...]
    """URL and reason of the first 100 skipped pages."""
    n_scores: int
    n_clusters: int
    n_duplicates: int
    """Number of pages that were fetched in vain: all but one of each cluster."""
    n_reordered: int
    """Number of joins of lists in two orders; 0 for labellers that do not find them."""
    sinks: tuple[Sink, ...]
    """Sinks (log in, not found, no result), the largest first."""


def label_store(
    store: PageStore,
    *,
    n_workers: int | None = None,
    labeller: str = "default",
    progress: Progress = lambda step, n_done: None,
) -> LabelReport:
    """Read the texts of pages in *store* that have none yet, then score and cluster all pages.

    *n_workers* is the number of processes that read pages, by default one for each core. *labeller* is one of
    :data:`LABELLERS`. *progress* is called after each batch of pages and after each step. After Ctrl-C or an error, the
    texts read so far are in the store. BadInputError or MissingExtraError as that reader and
    :func:`~dedup_crawler.labels.published.score_pairs`.
    """
    cluster = labeller_of(labeller)
    skipped: list[tuple[str, str]] = []
    n_cleaned = 0
    with TextReader(n_workers) as reader:
        read = reader.read(store.uncleaned_pages())
        while batch := list(islice(read, BATCH_PAGES)):
            store.write_texts(text for text, _ in batch)
            skipped += [(text.url, reason) for text, reason in batch if reason is not None]
            n_cleaned += len(batch)
            progress("main text", n_cleaned)
    store.write_scores(score_pairs(store.labelled_pages()))
    progress("scores", len(store))
    clustering = cluster(store.labelled_pages)
    clusters = clustering.numbers()
    store.write_clusters(dict(zip(store.urls(), clusters, strict=True)))
    progress("clusters", len(clusters))
    n_clusters = len(set(clusters))
    return LabelReport(
        n_pages=len(clusters),
        n_cleaned=n_cleaned,
        n_without_text=sum(not page.main_text for page in store.labelled_pages()),
        n_skipped=len(skipped),
        skipped=tuple(skipped[:REPORTED_SKIPS]),
        n_scores=store.overview().n_scores,
        n_clusters=n_clusters,
        n_duplicates=len(clusters) - n_clusters,
        n_reordered=sum(join.reason == REORDERED for join in clustering.joins),
        sinks=find_sinks(store.labelled_pages, clusters),
    )


def compared_clusters(pages: Pages, evidence: PageEvidence | None = None) -> Clustering:
    """Put the pages of a crawl into duplicate clusters of positions in crawl order.

    *pages* gives each URL once, with its text, and is called several times. *evidence* compares these pages, if it is
    known already. Memory holds the digests of all pages, but no texts.
    """
    if evidence is None:
        evidence = PageEvidence(PageDigests(pages()))
    clustering = cluster_pages(pages, evidence.digests.meters)
    urls = evidence.digests.urls
    crawled = {None, *urls}
    targets = [page.redirect_to and normal_form(page.redirect_to) for page in pages()]
    shown = [UNKNOWN if to not in crawled else page for page, to in zip(clustering.numbers(), targets, strict=True)]
    read = Reading.learn((), urls).read
    for host, places in places_by_host(map(read, urls)).items():
        its_pages = [shown[place] for place in places]
        columns = UrlColumns(host, [read(urls[place]) for place in places], its_pages, evidence.of(places))
        for hypothesis in hypotheses(columns):
            for one, other in _right_pairs(trials_of(hypothesis, columns), columns):
                pair = places[one], places[other]
                if not clustering.are_same(*pair) and evidence.is_same_beyond_doubt(*pair):
                    clustering.join(*pair, f"nothing of their own differs; proposed by the rule: {hypothesis.rule}")
        outside = {place: read(to) for place in places if (to := targets[place]) and to not in crawled}
        outside = {place: to for place, to in outside.items() if host_of(to) == host}
        for place, shown_by in redirected_to(outside, columns):
            reason = f"it redirects to {targets[place]}, which is the same page by a rule"
            clustering.join(place, places[shown_by], reason)
    return clustering


def _right_pairs(trials: Trials, columns: UrlColumns) -> Sequence[tuple[int, int]]:
    """Return the right pairs of a hypothesis, as places in the crawl of the host; none if it is too often wrong."""
    right = trials.is_right
    if right.sum() < max(MIN_GROUPS, MIN_RIGHT * len(trials)):
        return ()
    rows = columns.first[trials.references[right]].tolist(), columns.first[trials.rows[right]].tolist()
    return [*zip(*rows, strict=True)]


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


LABELLERS: Mapping[str, Callable[[Pages], Clustering]] = {
    "default": compared_clusters,
    "cosine": cluster_by_cosine,
    "simhash": cluster_by_simhash,
}
"""Name -> labeller: puts pages into duplicate clusters."""


def labeller_of(name: str) -> Callable[[Pages], Clustering]:
    """Look up a labeller; BadInputError if *name* is unknown."""
    if name not in LABELLERS:
        hint = did_you_mean(name, LABELLERS)
        raise BadInputError(f"labeller = {name!r} is not known; choose one of {', '.join(LABELLERS)}.{hint}")
    return LABELLERS[name]


@dataclass(frozen=True, slots=True)
class LabelStep:
    """Two URLs that were joined, and the reason."""

    url: str
    other: str
    reason: str


def explain_pair(store: PageStore, url: str, other: str, *, labeller: str = "default") -> tuple[LabelStep, ...]:
    """The joins that lead from one page of a crawl to another; empty if they are in different clusters.

    The store must be labelled (:func:`label_store`). Clusters are made anew, and nothing is written. BadInputError if a
    URL was not crawled or not labelled.
    """
    cluster_of = {page.url: page.cluster for page in store.labelled_pages()}
    urls = list(cluster_of)
    for each in (url, other):
        if each not in urls:
            raise BadInputError(f"{each} is not among the {len(urls)} pages of the crawl; give a URL as it was crawled")
    if n_unlabelled := sum(cluster is None for cluster in cluster_of.values()):
        raise BadInputError(
            f"{n_unlabelled} pages of the crawl are not labelled yet: run label without --explain first"
        )
    joins = labeller_of(labeller)(store.labelled_pages).explain(urls.index(url), urls.index(other))
    return tuple(LabelStep(urls[join.left], urls[join.right], join.reason) for join in joins)


def find_sinks(pages: Pages, clusters: Sequence[int]) -> tuple[Sink, ...]:
    """Find the sinks among *clusters* (the number of each page), the largest first; redirects do not count as URLs."""
    n_urls: Counter[int] = Counter()
    for page, cluster in zip(pages(), clusters, strict=True):
        n_urls[cluster] += bool(page.main_text)
    least = max(MIN_SINK_URLS, MIN_SINK_SHARE * n_urls.total())
    wanted = {cluster for cluster, n in n_urls.items() if n >= least}
    if not wanted:
        return ()
    first: dict[int, LabelledPage] = {}
    for page, cluster in zip(pages(), clusters, strict=True):
        if page.main_text and cluster in wanted:
            first.setdefault(cluster, page)
    lines = {line for page in first.values() for line in lines_of(page)}
    n_pages: Counter[str] = Counter()
    for page in pages():
        n_pages.update(lines.intersection(lines_of(page)))
    found: list[Sink] = []
    for cluster, page in first.items():
        most = max(COMMON_SHARE * n_urls.total(), SHARED * n_urls[cluster])
        own = sum(n_words(line) for line in set(lines_of(page)) if n_pages[line] <= most)
        if page.status >= 400 or own <= MAX_SINK_WORDS:
            found.append(Sink(cluster, n_urls[cluster], page.url, page.title))
    return tuple(sorted(found, key=lambda sink: (-sink.n_urls, sink.cluster)))
