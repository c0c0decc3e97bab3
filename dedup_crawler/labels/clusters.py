"""Clusters by text: joins pages that are the same, from the surest evidence to the weakest.

A wrong join makes a crawler lose a page; a missed join makes it fetch a page twice. So every join needs evidence:

1. a redirect shows the page of its target, and so do all redirects to one URL, even if it was not crawled;
2. the same status, title and text of at least 10 words;
3. the same except for decoration (:mod:`~dedup_crawler.labels.layout`);
4. the same lines in another order (a list sorted differently), if the page has a title: lines of a text file have an
   order;
5. the same content under titles that differ only in the page's name, if the content is specific enough;
6. the same title, and at least 100 words with hardly any difference;
7. the same except for the page's own address (``Index of /pub/mirrors/x``), in folders with two addresses. For a single
   page that is no evidence: ``/a/x was not found`` is the same for every address. It is evidence if *all* pages below
   the one folder are below the other folder too, with many different contents.

A page without text is joined only by redirects, or by the digest of its body if an export has only that
(:mod:`~dedup_crawler.labels.joins`). An error page is never joined with a page of another status.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence, Set

import numpy as np

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
from dedup_crawler.labels.signatures import Signature, SitePages
from dedup_crawler.pages.records import LabelledPage
from dedup_crawler.urls.templates import different_starts

MIN_OWN_WORDS = 20
"""Smallest number of own words with which the content of a page outweighs the name in its title."""
N_SAMPLED_LINES = 4
"""Number of lines by which near-duplicates are found: those with the smallest hashes."""
MAX_TRIES = 20
"""Most pages with which one page is compared for each kind of evidence; this keeps the cost linear."""
MIN_CONTENTS = 20
"""Smallest number of different contents that two folders share; different orders of a list count once."""
MAX_UNLIKE = 0.05
"""Largest share (0-1) of the paths below both folders with different pages: some pages change during a crawl."""
MAX_FOLDERS = 20
"""Most pairs of folders that are compared, those with most common contents first: each costs a pass over all URLs."""

REORDERED = "the same title and lines in another order"
"""Reason for joins of lists that are sorted differently."""

Key = Callable[[Signature], int | None]
EQUAL: tuple[tuple[Key, str], ...] = (
    (lambda page: page.text if page.n_text_words >= MIN_WORDS else None, "the same title and text"),
    (
        lambda page: page.content if page.n_words >= MIN_WORDS and page.title else None,
        "the same title and text but for decoration",
    ),
)
"""Keys, and the reason for a join of two pages with the same status, title and key."""


def cluster_pages(pages: Pages, meters: Set[int] | None = None) -> Clustering:
    """Put the pages of a crawl into duplicate clusters of positions in crawl order.

    *pages* gives each URL once, with its text, and is called up to three times. *meters* are the shapes of the site's
    meter lines, if they are known already (:mod:`dedup_crawler.labels.meters`). Simhashes and old cluster numbers are
    ignored. Memory holds a signature for each page and counts of lines, but no texts.
    """
    site = SitePages(pages, meters)
    clustering = site.textless
    for key, reason in EQUAL:
        _join_equal(clustering, site.signatures, key, reason)
    _join_reordered(clustering, site.signatures)
    _join_named(clustering, site)
    _join_near(clustering, site)
    _join_folders(clustering, site.positions, site.signatures)
    return clustering


def cluster_labelled(pages: Sequence[LabelledPage], meters: Set[int] | None = None) -> list[int]:
    """Cluster numbers (0, 1, ... by first appearance) of pages, as :func:`cluster_pages`; for any part of a crawl."""
    return cluster_pages(lambda: pages, meters).numbers()


def _join_equal(clustering: Clustering, signatures: dict[int, Signature], key: Key, reason: str) -> None:
    """Join pages with the same status, title and key; pages without the key are left out."""
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
    """Join pages with the same content whose titles differ only in the page's name.

    Pages of one kind may differ in nothing but the name ("This page is read only", "Nothing links here"), and are
    different pages all the same. So the content needs enough words of its own, or both URLs must have the same open
    arguments.
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
    """Join nearly equal pages, each with the first of them, so that small differences do not add up in a chain."""
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
    """Return True if two pages differ in so few lines that they are the same page with, say, another counter.

    Lines are compared place by place. An additional line would be a new entry of a list, and a moved line another open
    branch of a tree.
    """
    if len(left.lines) != len(right.lines):
        return False
    is_changed = left.lines != right.lines  # (n,)
    n_words = left.words[is_changed].sum(dtype=np.int64) + right.words[is_changed].sum(dtype=np.int64)
    most = MAX_CHANGED_SHARE * (left.n_words + right.n_words) / 2
    return bool(np.count_nonzero(is_changed) <= MAX_CHANGED_LINES and n_words <= most)


def _join_folders(clustering: Clustering, positions: Mapping[str, int], signatures: Mapping[int, Signature]) -> None:
    """Join the pages of folders with two addresses; pages that are already in one cluster count as alike.

    *positions* has the position of each URL in normal form, *signatures* the signatures of pages with text.
    """
    for old, new, origin in _proposed_folders(positions, signatures):
        alike: list[tuple[int, int]] = []
        contents: dict[str, tuple[int, ...]] = {}
        unlike: set[str] = set()
        for url, left in positions.items():
            if not url.startswith(origin + old):
                continue
            right = positions.get(origin + new + url[len(origin + old) :], -1)
            if left not in signatures or right not in signatures:
                continue
            path = url.partition("?")[0]
            if clustering.are_same(left, right) or _content_of(signatures[left]) == _content_of(signatures[right]):
                alike.append((left, right))
                contents.setdefault(path, _content_of(signatures[left]))
            else:
                unlike.add(path)
        if len({*contents.values()}) >= MIN_CONTENTS and len(unlike) <= MAX_UNLIKE * len(contents.keys() | unlike):
            for left, right in alike:
                reason = f"the same but for the page's own address, and so is all below {new} and {old}"
                clustering.join(left, right, reason)


def _proposed_folders(positions: Mapping[str, int], signatures: Mapping[int, Signature]) -> list[tuple[str, str, str]]:
    """Pairs of folders that share enough contents, apart from the addresses.

    Gives the longer and the shorter start of the path, and the scheme with the host.
    """
    seen: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    contents: defaultdict[tuple[str, str, str], set[int]] = defaultdict(set)
    for url, position in positions.items():
        signature = signatures.get(position)
        if signature is None or signature.address_free is None or "?" in url:
            continue
        origin = url[: url.index("/", url.index("//") + 2)]
        others = seen[origin, signature.address_free]
        for other in others[:MAX_TRIES]:
            both = different_starts(url[len(origin) :], other[len(origin) :])
            new, old = sorted(both, key=lambda each: (len(each), each))
            if new and new != old:
                contents[old, new, origin].add(signature.address_free)
        others.append(url)
    enough = [(-len(its), *folders) for folders, its in contents.items() if len(its) >= MIN_CONTENTS // 2]
    return [(old, new, origin) for _, old, new, origin in sorted(enough)[:MAX_FOLDERS]]


def _content_of(signature: Signature) -> tuple[int, ...]:
    if signature.address_free is not None:
        return signature.status, signature.address_free
    return signature.status, signature.title, signature.text
