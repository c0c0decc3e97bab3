"""Clusters of URLs that show the same page: the joins of the default labeller, from the surest evidence to the weakest.

A wrong join makes a crawler lose a page, a missed one makes it fetch a page twice, so every join needs evidence:

1. a redirect shows what it leads to, and redirects to one URL show the same, crawled or not;
2. the same status, title and text, of at least 10 words;
3. the same but for decoration (:mod:`~dedup_crawler.labels.layout`), or but for what jusText calls boilerplate where
   that is little;
4. the same lines in another order (a list sorted otherwise), under a title: the lines of a text file have an order;
5. the same content under titles that differ only in the page's name, where the content speaks for itself;
6. the same title, and at least 100 words of which hardly any differ;
7. the same but for the page's own address, in folders that share all they hold
   (:mod:`~dedup_crawler.labels.folders`).

A page without text is joined by redirects only, and by the digest of its body where an export tells that and not the
body (:mod:`~dedup_crawler.labels.joins`). An error page is never joined with one of another status.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable

from dedup_crawler.labels.folders import join_folders
from dedup_crawler.labels.joins import Clustering
from dedup_crawler.labels.layout import Pages
from dedup_crawler.labels.lines import (
    MAX_CHANGED_LINES,
    MAX_CHANGED_SHARE,
    MIN_NEAR_WORDS,
    MIN_WORDS,
    digest_of_all,
    is_reordered,
)
from dedup_crawler.labels.signatures import Signature, SitePages, changes

MIN_OWN_WORDS = 20
"""Words of its own that a page needs for its content to outweigh the name in its title."""
N_SAMPLED_LINES = 4
"""Lines by which near-duplicates find each other: those with the smallest hashes, which nearly equal pages share."""
MAX_TRIES = 20
"""Most pages that one page is compared with, for each kind of evidence: keeps the cost linear in pages."""

REORDERED = "the same title and lines in another order"
"""Reason of the joins of lists that are sorted otherwise."""

Key = Callable[[Signature], int | None]
EQUAL: tuple[tuple[Key, str], ...] = (
    (lambda page: page.text if page.n_text_words >= MIN_WORDS else None, "the same title and text"),
    (
        lambda page: page.content if page.n_words >= MIN_WORDS and page.title else None,
        "the same title and text but for decoration",
    ),
    (lambda page: page.main if page.n_words >= MIN_NEAR_WORDS else None, "the same title and main text"),
)
"""Evidence that two pages of one status and title are the same -> the reason of the join."""


def cluster_pages(pages: Pages) -> Clustering:
    """Put the pages of a crawl into duplicate clusters, of positions in crawl order; depends on the pages alone.

    *pages* gives each URL once, with its text, and is called up to three times. Simhashes and cluster numbers are not
    looked at. Memory holds a signature a page and counts of bounded size, never the texts.
    """
    site = SitePages(pages)
    clustering = site.textless.clustering()
    for key, reason in EQUAL:
        _join_equal(clustering, site.signatures, key, reason)
    _join_reordered(clustering, site.signatures)
    _join_named(clustering, site)
    _join_near(clustering, site)
    join_folders(clustering, site.textless.positions, site.signatures)
    return clustering


def _join_equal(clustering: Clustering, signatures: dict[int, Signature], key: Key, reason: str) -> None:
    """Join pages of one status and title that are equal by a key, where they have it."""
    first: dict[Hashable, int] = {}
    for position, signature in signatures.items():
        if (found := key(signature)) is not None:
            same = signature.status, signature.title, found
            clustering.join(first.setdefault(same, position), position, reason)


def _join_reordered(clustering: Clustering, signatures: dict[int, Signature]) -> None:
    orders: defaultdict[Hashable, list[int]] = defaultdict(list)
    for position, signature in signatures.items():
        if signature.n_words < MIN_WORDS or not len(signature.lines):
            continue
        lines = digest_of_all(sorted(signature.lines.tolist()))
        known = orders[signature.status, signature.title, len(signature.lines), lines]
        if any(clustering.are_same(other, position) for other in known):
            continue
        for other in known[:MAX_TRIES]:
            if is_reordered(signatures[other].lines.tolist(), signature.lines.tolist()):
                clustering.join(other, position, REORDERED)
                break
        else:
            known.append(position)


def _join_named(clustering: Clustering, site: SitePages) -> None:
    """Join pages of the same content whose titles differ in the page's name.

    Where nothing but the name tells pages of one kind apart ("This page is read only", "Nothing links here") it is
    what the page is about. So the content has to say something by itself, or to be chosen by another argument, the
    same for both, on a kind of page whose content varies.
    """
    named = {
        position: (signature.status, signature.plain_title, signature.content)
        for position, signature in site.signatures.items()
        if signature.plain_title is not None and len(signature.lines)
    }
    n_pages = Counter(named.values())
    by_content: dict[Hashable, int] = {}
    by_argument: dict[Hashable, int] = {}
    for position, key in named.items():
        signature = site.signatures[position]
        if n_pages[key] == 1:
            continue
        if signature.open_arguments:
            first = by_argument.setdefault((*key, signature.open_arguments), position)
            names = ", ".join(sorted({name for name, _ in signature.open_arguments}))
            clustering.join(first, position, f"the same content for the same {names}; only the page's name differs")
        if site.n_own_words(signature) >= MIN_OWN_WORDS:
            first = by_content.setdefault(key, position)
            clustering.join(first, position, "the same content; only the page's name in the title differs")


def _join_near(clustering: Clustering, site: SitePages) -> None:
    """Join nearly equal pages with the first of them: each with that one, so that no chain leads astray."""
    seen: set[Hashable] = set()
    buckets: defaultdict[Hashable, list[int]] = defaultdict(list)
    for position, signature in site.signatures.items():
        same = signature.status, signature.title
        if signature.n_words < MIN_NEAR_WORDS or not len(signature.lines) or (*same, signature.content) in seen:
            continue
        seen.add((*same, signature.content))
        keys = [(*same, line) for line in sorted(set(signature.lines.tolist()))[:N_SAMPLED_LINES]]
        tried = dict.fromkeys(other for key in keys for other in buckets[key])
        for other in list(tried)[:MAX_TRIES]:
            if not clustering.are_same(other, position) and is_near(site.signatures[other], signature):
                clustering.join(other, position, "the same title and nearly the same lines")
                break
        else:
            for key in keys:
                if len(buckets[key]) < MAX_TRIES:
                    buckets[key].append(position)


def is_near(left: Signature, right: Signature) -> bool:
    """Return True if two pages differ so little that it is the same page with, say, another counter.

    Line by line: where one page has a line more, a list has an entry more, and where lines have changed places, a tree
    has another branch open.
    """
    if len(left.lines) != len(right.lines):
        return False
    n_lines, n_words = changes(left, right)
    return n_lines <= MAX_CHANGED_LINES and n_words <= MAX_CHANGED_SHARE * (left.n_words + right.n_words) / 2
