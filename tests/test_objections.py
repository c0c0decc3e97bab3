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


def test_links_that_always_lead_to_one_page_are_no_wall():
    """A third of the later links shows a log-in form, as links of that template always did, or in a new template."""
    crawl = session_ids(120)
    login = [f"{HOST}/login.php?back={i}" for i in range(240)]
    urls, clusters = crawl.urls + login[:100], crawl.clusters + [-1] * 100

    assert swallowing_cluster(urls, clusters, 300) is None
    mixed = [pair for both in zip(urls[:240], login, strict=True) for pair in both]
    assert swallowing_cluster(mixed, [n for c in crawl.clusters[:240] for n in (c, -1)], 100) is None
