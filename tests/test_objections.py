"""One page that answers for the whole crawl is noticed, and no ordinary log-in form is taken for one."""

from __future__ import annotations

import pytest

from dedup_crawler.live.learning.objections import swallowing_cluster
from planted_site import HOST, session_ids


@pytest.mark.parametrize("n_before", [100, 240])
def test_a_wall_is_a_page_that_swallows_the_templates_known_before(n_before):
    """After some pages all URLs show one page: this is detected in any template; without the wall nothing is."""
    crawl = session_ids(120)
    walled = [cluster if i < n_before else -1 for i, cluster in enumerate(crawl.clusters)]

    assert swallowing_cluster(crawl.urls, walled, n_before) == (-1, len(crawl.urls) - n_before)
    assert swallowing_cluster(crawl.urls, crawl.clusters, n_before) is None


def test_a_wall_from_the_first_page_on_is_found():
    """A crawl that saw only the wall: all its pages are one, for any number of pages of the old model."""
    crawl = session_ids(60)

    assert swallowing_cluster(crawl.urls, [7] * 240, 240) == (7, 240)
    assert swallowing_cluster(crawl.urls, [7] * 240, 100) == (7, 140)


def test_log_in_links_at_every_page_are_no_wall():
    """
    Few pages are known when the crawl comes to their links to log in, which are half of the next pages. If the same
    form then answers for topics, too, it is a wall, however many log-in links there were before.
    """
    crawl = session_ids(120)
    login = [f"{HOST}/login.php?back={i}" for i in range(200)]
    urls = [
        *crawl.urls[:220],
        *login[:12],
        *[url for both in zip(crawl.urls[220:320], login[12:], strict=False) for url in both],
    ]
    clusters = [-1 if "login" in url else crawl.clusters[crawl.urls.index(url)] for url in urls]

    assert swallowing_cluster(urls, clusters, 232) is None
    walled = [-1 if n >= 262 else cluster for n, cluster in enumerate(clusters)]
    assert swallowing_cluster(urls, walled, 232) is not None
    many = [*login[:60], *urls[:220], *crawl.urls[220:320]]
    walled = [*[-1] * 60, *clusters[:220], *[crawl.clusters[220 + n] if n < 60 else -1 for n in range(100)]]
    assert swallowing_cluster(many, walled, 280) == (-1, 40)


def test_links_that_always_lead_to_one_page_are_no_wall():
    """A third of the later links shows a log-in form, as links of that template always did, or in a new template."""
    crawl = session_ids(120)
    login = [f"{HOST}/login.php?back={i}" for i in range(240)]
    urls, clusters = crawl.urls + login[:100], crawl.clusters + [-1] * 100

    assert swallowing_cluster(urls, clusters, 300) is None
    mixed = [pair for both in zip(urls[:240], login, strict=True) for pair in both]
    assert swallowing_cluster(mixed, [n for c in crawl.clusters[:240] for n in (c, -1)], 100) is None


def test_links_to_edit_that_ask_to_log_in_are_no_wall():
    """
    Each page has three links that a visitor may not follow, of kinds that the crawl has just begun to meet. They are
    three quarters of the next pages, and show one form. The crawl is not swallowed: its topics go on showing theirs.
    """
    crawl = session_ids(120)
    urls, clusters = crawl.urls[:240], crawl.clusters[:240]
    for i, (url, cluster) in enumerate(zip(crawl.urls[240:300], crawl.clusters[240:300], strict=True)):
        urls = [*urls, url, f"{HOST}/edit/{i}", f"{HOST}/create/{i}", f"{HOST}/attach/{i}"]
        clusters = [*clusters, cluster, -1, -1, -1]

    assert swallowing_cluster(urls, clusters, 240) is None
    walled = [*clusters[:240], *[-1] * 240]
    assert swallowing_cluster(urls, walled, 240) == (-1, 240)
