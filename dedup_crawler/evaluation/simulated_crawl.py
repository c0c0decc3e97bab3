"""The simulated crawl of SIGIR'17: cold as in the paper, and warm as the continuation of a crawl.

K. Xu, Z. Liu, J. Callan, SIGIR 2017, section 4: URLs come in crawl order; a URL with a seen form is not fetched.
The paper starts with nothing seen (*cold*) and counts the clusters of the test pages. A user's crawl continues
(*warm*): the forms of the training pages are seen, and a page that they show is not needed again. A warm crawl knows
the referrer of a link if it fetched that page, and the other pages that hold the link as the live filter does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from dedup_crawler.methods import Canonicalizer, Referrer
from dedup_crawler.pages.records import LabelledPage
from dedup_crawler.urls.normal import host_of, normal_form
from dedup_crawler.urls.page_links import LinkedOn, names_of_links

LinksOf = Callable[[str], Iterable[str]]
"""Reader of the links on the page of a crawled URL, such as :func:`dedup_crawler.labels.main_text.stored_links`."""


def by_normal_form(links_of: LinksOf, pages: Iterable[LabelledPage]) -> LinksOf:
    """Return a reader that takes the URLs of *pages* in normal form, as one takes them as they were crawled."""
    written = {normal_form(page.url): page.url for page in pages}
    return lambda url: links_of(written[url])


@dataclass(frozen=True, slots=True)
class CrawlOutcome:
    """Counts of one simulated crawl, in URLs and pages (clusters)."""

    n_urls: int
    n_fetched: int
    n_needed: int
    """Number of pages that some URL shows and that were not known before."""
    n_covered: int
    """Number of needed pages that were fetched at least once."""

    @property
    def precision(self) -> float:
        """Return the share (0-1) of fetches that brought a new needed page; 1 if nothing was fetched."""
        return self.n_covered / self.n_fetched if self.n_fetched else 1.0

    @property
    def recall(self) -> float:
        """Return the share (0-1) of needed pages that were fetched; 1 if none was needed."""
        return self.n_covered / self.n_needed if self.n_needed else 1.0

    @property
    def f1(self) -> float:
        """Return the harmonic mean of precision and recall (0-1)."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    @property
    def n_lost(self) -> int:
        """Return the number of needed pages that were never fetched."""
        return self.n_needed - self.n_covered

    @property
    def n_avoidable(self) -> int:
        """Return the number of fetches that a perfect filter would have saved."""
        return self.n_urls - self.n_needed

    @property
    def saved(self) -> float:
        """Return the share (0-1) of avoidable fetches that were saved; drops that lost a page do not count."""
        useless = self.n_urls - self.n_fetched - self.n_lost
        return useless / self.n_avoidable if self.n_avoidable else 0.0


def replay(forms: Sequence[str], clusters: Sequence[Hashable]) -> CrawlOutcome:
    """Crawl URLs in order from nothing, fetching those with an unseen form; each has its form and its page."""
    first: dict[str, Hashable] = {}
    for form, cluster in zip(forms, clusters, strict=True):
        first.setdefault(form, cluster)
    return CrawlOutcome(len(forms), len(first), len(set(clusters)), len(set(first.values())))


@dataclass(frozen=True, slots=True)
class Visit:
    """Decision of a warm crawl about one URL."""

    form: str
    same: str | None
    """The URL that was fetched for the same form; None if there is none."""
    is_covered: bool
    """True if a coverage rule skips the URL."""

    @property
    def is_fetched(self) -> bool:
        """Return True if nothing speaks against a fetch."""
        return self.same is None and not self.is_covered


def visits(
    method: Canonicalizer,
    urls: Sequence[str],
    referrers: Sequence[str | None],
    *,
    crawled_urls: Sequence[str],
    links_of: LinksOf | None = None,
) -> Iterator[Visit]:
    """Decide about the next URLs of a crawl as the live filter does, with all pages that are known to hold a link.

    Parameters as for :func:`crawl_on`.
    """
    form_of = dict(zip(crawled_urls, method.canonicalize_many(crawled_urls), strict=True))
    first = {form: url for url, form in reversed(form_of.items())}
    linked_on = LinkedOn()
    next_urls = set(urls)

    def read_links(page: str) -> None:
        if links_of is not None and method.looks_back:
            links = [*map(normal_form, links_of(page))]
            linked_on.saw(next_urls.intersection(links), page)
            if links:
                linked_on.note_names(page, names_of_links(links, page))

    for url in crawled_urls:
        read_links(url)
    for url, referrer in zip(urls, referrers, strict=True):
        known = referrer if referrer in form_of else None
        holders = [*([known] if known is not None else []), *linked_on.pages(url)]
        page = method.leads_back_to(url, holders, linked_on.names) if host_of(url) in method.hosts else None
        page = known if page is None else page
        form = method.canonicalize(url, None if page is None else Referrer(page, form_of[page], linked_on.names(page)))
        same = first.get(form)
        if same is not None and is_missing(method, linked_on, url, form, same, holders, form_of.__getitem__):
            form = url
        visit = Visit(form, first.get(form), method.is_covered(url))
        yield visit
        if visit.is_fetched:
            first[form] = url
            form_of[url] = form
            read_links(url)


def crawl_on(
    method: Canonicalizer,
    urls: Sequence[str],
    referrers: Sequence[str | None],
    clusters: Sequence[Hashable],
    *,
    crawled_urls: Sequence[str],
    crawled_clusters: Collection[Hashable],
    links_of: LinksOf | None = None,
) -> CrawlOutcome:
    """Continue a crawl as the live filter does, with referrers.

    *urls*, *referrers* and *clusters*, of the same length, are the next URLs, the URL on which each was found, and the
    page that it shows; *crawled_urls* and *crawled_clusters* were fetched before. All URLs are in normal form. The
    *method* is fitted. Without *links_of*, the referrer of a URL is the only page known to link it.
    """
    needed = set(clusters).difference(crawled_clusters)
    made = visits(method, urls, referrers, crawled_urls=crawled_urls, links_of=links_of)
    fetched = [cluster for cluster, visit in zip(clusters, made, strict=True) if visit.is_fetched]
    return CrawlOutcome(len(urls), len(fetched), len(needed), len(needed.intersection(fetched)))


def is_missing(
    model: Canonicalizer,
    linked_on: LinkedOn,
    link: str,
    form: str,
    owner: str,
    holders: Iterable[str],
    form_of: Callable[[str], str],
) -> bool:
    """Return True if *owner*, the fetched page with this *form*, should hold *link*, and does not.

    The page that shows an answer, a comment or the present revision holds a link to it, a permalink. So a URL that a
    page does not hold shows something else: ``/question/7?answer=9`` may be on the second page of the answers. Only
    links about which a referrer rule was learnt are permalinks.

    *holders* are the pages that are known to hold it; *form_of* gives their forms. If one has the same form, the link
    is not missing.
    """
    url = normal_form(link)
    if not model.looks_back or url == form or not linked_on.lacks(owner, link):
        return False
    if model.leads_back_to(url, [form]) is None:
        return False
    return all(form_of(page) != form for page in holders)
