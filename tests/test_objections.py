"""A new model may lose rules, but it must not suddenly ignore keys that tell pages apart."""

from __future__ import annotations

import pytest

from dedup_crawler.live.learning.objections import is_refused, newly_ignored, swallowing_cluster
from dedup_crawler.methods import make_method
from planted_forum import forum
from planted_site import HOST, session_ids, slugs


def fitted(urls, clusters):
    return make_method("verified").fit(urls, clusters)


def test_a_model_protects_what_it_looks_at():
    """The numbers of topics and members make the form, the session id does not: two keys are protected, and a
    refit from more of the same pages ignores none of them.
    """
    crawl, more = session_ids(60), session_ids(120, seed=1)

    ignored, n_protected = newly_ignored(
        fitted(crawl.urls, crawl.clusters), fitted(more.urls, more.clusters), more.urls
    )

    # t with and without a session id, and u
    assert (ignored, n_protected) == ([], 3)
    assert not is_refused(ignored, n_protected)


def test_a_model_that_ignores_what_told_pages_apart_is_refused():
    """Labels that separate all sessions of a topic and join all topics: the ignored key is named."""
    crawl = session_ids(60)
    bad = make_method("strip-query").fit(crawl.urls, crawl.clusters)

    ignored, n_protected = newly_ignored(fitted(crawl.urls, crawl.clusters), bad, crawl.urls)

    assert n_protected == 3
    assert sorted(ignored) == [
        f"query[t] of {HOST}/topic.php?sid&t",
        f"query[t] of {HOST}/topic.php?t",
        f"query[u] of {HOST}/member.php?u",
    ]
    assert is_refused(ignored, n_protected)


def test_the_other_direction_is_always_allowed():
    """A new model that keeps more keys, or has no rules, is not refused."""
    crawl = session_ids(60)
    forgetful = make_method("keep-all").fit(crawl.urls, crawl.clusters)

    assert newly_ignored(fitted(crawl.urls, crawl.clusters), forgetful, crawl.urls)[0] == []


def test_parts_of_the_path_are_keys():
    """A newly ignored slug is named by its place, the number beside it stays."""
    crawl = slugs()
    urls = [url for url in crawl.urls if "/questions/" in url]
    keep = make_method("keep-all").fit(crawl.urls, crawl.clusters)

    ignored, n_protected = newly_ignored(keep, fitted(crawl.urls, crawl.clusters), urls)

    assert ignored == [f"path[2] of {HOST}/questions/<any>/<any>"]
    assert n_protected == 3  # number and slug, number alone


def test_a_template_that_is_newly_covered_is_ignored():
    """A newly covered post counts as ignored, though no rule changes its form: its number is named."""
    crawl = forum()
    keep = make_method("keep-all").fit(crawl.urls, crawl.clusters)
    covering = make_method("verified").fit(crawl.urls, crawl.clusters, crawl.referrers, crawl.redirects)

    ignored, n_protected = newly_ignored(keep, covering, crawl.urls)

    assert ignored == [f"path[1] of {HOST}/post/<any>"]
    assert n_protected == 2


def test_nothing_is_protected_on_hosts_that_the_old_model_does_not_know():
    """The first model of a host is never refused."""
    crawl = session_ids(60)
    urls = [url.replace("forum", "other") for url in crawl.urls]
    bad = make_method("strip-query").fit(urls, crawl.clusters)

    assert newly_ignored(fitted(crawl.urls, crawl.clusters), bad, urls) == ([], 0)
    assert not is_refused([], 0)


def test_one_key_in_ten_may_go():
    """More than a tenth is refused, a tenth is not; one or two only if they are most of all keys."""
    assert not is_refused(["a", "b", "c"], 30)
    assert is_refused(["a", "b", "c"], 29)
    assert not is_refused(["a", "b"], 4)
    assert is_refused(["a", "b"], 3)


def test_a_key_that_was_looked_at_for_want_of_evidence_may_go():
    """
    An old model without rules keeps the session id as well; its own pages show that it does not matter, so a model
    that ignores it is accepted. Without the pages this is unknown.
    """
    crawl = session_ids(60)
    keep = make_method("keep-all").fit(crawl.urls, crawl.clusters)
    new = fitted(crawl.urls, crawl.clusters)

    assert newly_ignored(keep, new, crawl.urls, crawl.clusters) == ([], 3)
    assert newly_ignored(keep, new, crawl.urls) == ([f"query[sid] of {HOST}/topic.php?sid&t"], 4)


def test_strangers_urls_cost_little():
    """Of thousands of templates and names only the frequent ones are examined, in seconds."""
    urls = [f"{HOST}/{'x/' * (i % 50)}p?{'&'.join(f'k{i}x{j}=1' for j in range(20))}" for i in range(2000)]
    urls += [f"{HOST}/many?{'&'.join(f'k{j}={i}' for j in range(300))}" for i in range(30)]
    keep = make_method("keep-all").fit(urls, list(range(len(urls))))

    ignored, n_protected = newly_ignored(keep, keep, urls)

    assert ignored == []
    assert n_protected <= 500 * 50


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
