"""An objection to a new model: one page has swallowed the crawl.

A log-in form, a captcha or an error page answers for all URLs, which then get one label. Such labels teach no wrong
rule (one cluster is one piece of evidence, however large), but a model learnt from them has lost the rules of the model
before.

URLs are grouped by coarse template: the fixed parts of the path and the query names. So a page that always answered for
its own kind of URLs is told from one that answers for kinds which showed other pages before.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from dedup_crawler.urls.keyvalue import KeyValues, values_of
from dedup_crawler.urls.normal import normal_form
from dedup_crawler.urls.templates import is_always_argument

MIN_URLS = 10
"""Least number of URLs of a template that is used."""
ANY = "<any>"
"""A varying part of the path; no URL contains this, because its brackets would be escaped."""
_MIN_LITERAL = 0.01  # a path part on at least this share of the URLs is a fixed word of the site

Template = tuple[tuple[str, str], ...]
"""Pairs of key and value; query keys without values."""
SUDDENLY = 0.20
"""A cluster with more than this share (0-1) of the later pages swallows the crawl if it held few earlier ones."""
BEFORE = 0.05
"""Share (0-1) of the earlier pages that counts as few."""
NEARLY_ALL = 0.90
"""A cluster with more than this share (0-1) of the later pages, of all templates, always swallows the crawl."""
_MIN_PAGES = 50  # least number of later pages for their share to count


def templates_of(urls: Sequence[KeyValues]) -> list[Template]:
    """Return the template of each URL; a URL is a key-value map."""
    counts = Counter(item for url in urls for item in url.items() if item[0].startswith("path["))
    least = max(_MIN_LITERAL * len(urls), MIN_URLS)
    return [tuple(sorted(_word(key, value, counts[key, value] >= least) for key, value in url.items())) for url in urls]


def _read(url: str) -> KeyValues:
    """Read a URL in normal form as key-value map, with its scheme and host under one key more."""
    return {"origin": url[: url.find("/", url.find("://") + 3)], **values_of(url)}


def _word(key: str, value: str | None, is_frequent: bool) -> tuple[str, str]:
    if _is_query(key):
        return key, ""
    is_argument = key.startswith("path[") and (not is_frequent or bool(is_always_argument(value or "")))
    return key, ANY if is_argument else value or ""


def _is_query(key: str) -> bool:
    return key.startswith("query[")


def swallowing_cluster(urls: Sequence[str], clusters: Sequence[int], n_before: int) -> tuple[int, int] | None:
    """Find a cluster that suddenly takes pages of many kinds, or nearly all of the later pages.

    Suddenly means: among URLs of templates with at least 10 earlier URLs, it holds more than 20 % of the later URLs and
    held less than 5 % of the earlier ones. A template that was one page from its beginning (such as links to log in)
    does not count, unless it is nearly the whole crawl. Most pages may be such links: a page of a wiki has several.

    Parameters
    ----------
    urls, clusters
        URLs and clusters of one host, in crawl order, same length.
    n_before
        Number of URLs before the part in doubt; if no URL follows, all are in doubt.

    Returns
    -------
    tuple of int, or None
        The cluster, and the number of URLs in doubt that it holds.
    """
    if n_before >= len(urls):
        n_before = 0
    in_doubt = Counter(clusters[n_before:])
    for cluster, n in in_doubt.most_common(1):
        if n > NEARLY_ALL * (len(urls) - n_before):
            return cluster, n
    templates = templates_of([_read(normal_form(url)) for url in urls])
    n_of_template = Counter(templates[:n_before])
    rows = [i for i, template in enumerate(templates) if n_of_template[template] >= MIN_URLS]
    shown: defaultdict[Template, set[int]] = defaultdict(set)
    for template, cluster in zip(templates[:n_before], clusters, strict=False):
        shown[template].add(cluster)
    n_earlier = sum(i < n_before for i in rows)
    n_later = len(rows) - n_earlier
    others = [i for i in rows if shown[templates[i]] != {clusters[i]}]
    earlier = Counter(clusters[i] for i in others if i < n_before)
    later = Counter(clusters[i] for i in others if i >= n_before)
    for cluster, n in later.most_common(1):
        if n_later >= _MIN_PAGES and n > SUDDENLY * n_later and earlier[cluster] < BEFORE * n_earlier:
            return cluster, in_doubt[cluster]
    return None
