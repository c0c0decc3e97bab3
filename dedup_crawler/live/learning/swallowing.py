"""Detection of a swallowed crawl: a login wall, a captcha or an error page that answers everything.

Labels then say that all URLs are one page. They teach no rule (one cluster is one piece of evidence, however large),
but a model learnt from them has forgotten what the one before it knew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dedup_crawler.live.learning.url_groups import MIN_URLS, templates_of
from dedup_crawler.urls.keyvalue import key_values

SUDDENLY = 0.20
"""Share (0-1) of the later pages above which one cluster swallows them, if it held few of the earlier ones."""
BEFORE = 0.05
"""Share (0-1) of the earlier pages that counts as few."""
MOSTLY = 0.50
"""Share (0-1) of the later pages, of whatever template, that is too much in any case."""
_MIN_PAGES = 50  # later ones, for their share to mean something


def swallowing_cluster(urls: Sequence[str], clusters: Sequence[int], n_before: int) -> tuple[int, int] | None:
    """Find a cluster that takes in pages of many kinds all of a sudden, or most of the later pages.

    All of a sudden: of the later URLs of templates that at least 10 earlier ones have it holds more than 20 %, and it
    held less than 5 % before. A template that was one page from its beginning (links to log in, met late) is no sign of
    anything, unless it is most of what was crawled.

    Parameters
    ----------
    urls, clusters
        Of one host, in crawl order, same length.
    n_before
        How many URLs came before the part that is in doubt; where there is no such part, all are.

    Returns
    -------
    tuple of int, or None
        The cluster, and how many of the URLs in doubt it holds.
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
