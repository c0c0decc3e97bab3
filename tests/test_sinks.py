"""Login forms and not-found pages are recognised; lists and texts with many URLs are not."""

from __future__ import annotations

from dedup_crawler.labels.labelling import cluster_labelled
from dedup_crawler.labels.sinks import find_sinks
from label_pages import LONG, SITE, page, wiki


def test_a_login_form_is_a_sink() -> None:
    """Of a wiki, the one cluster that every page leads to and that says nothing."""
    pages = wiki()
    sinks = find_sinks(lambda: pages, cluster_labelled(pages))

    assert [(sink.n_urls, sink.title, sink.url) for sink in sinks] == [
        (80, "Log in [Wiki]", SITE + "wiki?id=chapter:page0&do=login")
    ]


def test_error_pages_and_texts() -> None:
    """A long not-found page is a sink by its status; a long page with many URLs, and a short one with few, are none."""
    pages = [page(f"gone{n}", LONG.replace("word", "gone"), status=404) for n in range(40)]
    pages += [page(f"a{n}", LONG + "\nmore") for n in range(40)]
    pages += [page(f"b{n}", "short but with few URLs so it is not a sink") for n in range(9)]

    assert [sink.n_urls for sink in find_sinks(lambda: pages, cluster_labelled(pages))] == [40]
