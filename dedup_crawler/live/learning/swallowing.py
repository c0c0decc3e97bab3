"""Detection of a swallowed crawl: a log-in form, a captcha or an error page that answers for all URLs.

All URLs then get one label. Such labels teach no wrong rule (one cluster is one piece of evidence, however large), but
a model learnt from them has lost the rules of the model before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dedup_crawler.live.learning.url_groups import MIN_URLS, templates_of
from dedup_crawler.urls.keyvalue import key_values

SUDDENLY = 0.20
"""A cluster with more than this share (0-1) of the later pages swallows the crawl if it held few earlier ones."""
BEFORE = 0.05
"""Share (0-1) of the earlier pages that counts as few."""
MOSTLY = 0.50
"""A cluster with more than this share (0-1) of the later pages, of all templates, always swallows the crawl."""
_MIN_PAGES = 50  # least number of later pages for their share to count


def swallowing_cluster(urls: Sequence[str], clusters: Sequence[int], n_before: int) -> tuple[int, int] | None:
    """Find a cluster that suddenly takes pages of many kinds, or most of the later pages.

    Suddenly means: among URLs of templates with at least 10 earlier URLs, it holds more than 20 % of the later URLs and
    held less than 5 % of the earlier ones. A template that was one page from its beginning (such as late links to log
    in) does not count, unless it is most of the crawl.

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
        if n > MOSTLY * (len(urls) - n_before):
            return cluster, n
    templates = templates_of([key_values(url) for url in urls])
    n_of_template = Counter(templates[:n_before])
    rows = [i for i, template in enumerate(templates) if n_of_template[template] >= MIN_URLS]
    earlier = Counter(clusters[i] for i in rows if i < n_before)
    later = Counter(clusters[i] for i in rows if i >= n_before)
    n_earlier, n_later = sum(earlier.values()), sum(later.values())
    for cluster, n in later.most_common(1):
        if n_later >= _MIN_PAGES and n > SUDDENLY * n_later and earlier[cluster] < BEFORE * n_earlier:
            return cluster, in_doubt[cluster]
    return None
