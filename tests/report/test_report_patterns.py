"""The tree of URL patterns: it counts every fetch once, in its branch, and stays small."""

import random

from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.pages.records import PageFacts
from dedup_crawler.report.crawl_facts import (
    MAX_CHILDREN,
    MAX_SHOWN,
    N_EXAMPLES,
    crawl_facts,
    examples_of,
    first_shown,
    leave_most,
    pattern_tree,
    tokens_of,
)
from dedup_crawler.urls.templates import Templater
from planted_site import HOST, session_ids


def facts(url, page, n_bytes=10, status=200):
    return PageFacts(url, None, status, f"page {page}", page, None, n_bytes)


def cluster(each):
    return each.cluster


def tree_of(pages):
    templater = Templater.learn(tokens_of([each.url for each in pages], len(pages)), deep=True)
    return pattern_tree(pages, cluster, templater)


def shown_tree_of(pages):
    root = tree_of(pages)
    leave_most(root)
    return root


def nodes(pattern):
    yield pattern
    for child in pattern.children.values():
        yield from nodes(child)


CRAWL = session_ids()
PAGES = [facts(url, page) for url, page in zip(CRAWL.urls, CRAWL.clusters, strict=True)]


def test_the_waste_is_where_it_was_planted():
    """Two of three topic visits are repeats, no member visit is; the session id is in its pattern."""
    by_label = {node.label: node for node in nodes(shown_tree_of(PAGES))}

    assert (by_label[HOST].n_urls, by_label[HOST].n_repeats) == (240, 120)
    assert by_label["/topic.php"].n_repeats == 120
    assert (by_label["/member.php?u=<num>"].n_urls, by_label["/member.php?u=<num>"].n_repeats) == (60, 0)
    assert by_label["?t=<num>&sid=<hex>"].n_urls == 120
    assert by_label["/topic.php"].n_repeat_bytes == 1200


def test_an_example_names_a_repeat_and_what_had_shown_the_page():
    """The URL shows a page that an earlier URL showed."""
    examples = list(examples_of(shown_tree_of(PAGES)))
    first = first_shown(PAGES, cluster, {page for _, page in examples})
    place = {each.url: number for number, each in enumerate(PAGES)}

    assert examples
    for url, page in examples:
        assert PAGES[place[url]].cluster == page == first[page].cluster
        assert place[first[page].url] < place[url]


URLS = st.lists(
    st.tuples(
        st.sampled_from(["http://a.example", "https://b.example:8080", ""]),
        st.lists(st.sampled_from(["a", "b", "topic", "7", "12-x", "", "<num1>"]), max_size=14),
        st.sampled_from(["", "?p=1", "?p=2&q", "?"]),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=60,
)


@given(URLS)
def test_a_branch_is_the_sum_of_what_is_below_it(visits):
    """Law: URLs and repeats of a branch are its own plus those of its children; the root has all with a cluster."""
    pages = [facts(f"{host}/{'/'.join(parts)}{query}", page) for host, parts, query, page in visits]
    root = tree_of([*pages, facts(f"{HOST}/unlabelled", None)])

    assert root.n_urls == len(pages)
    assert root.n_repeats == len(pages) - len({each.cluster for each in pages})
    for node in nodes(root):
        assert node.n_urls == node.n_own + sum(child.n_urls for child in node.children.values())
        assert sum(child.n_repeats for child in node.children.values()) <= node.n_repeats <= node.n_urls
    leave_most(root)
    for node in nodes(root):
        kept = sum(child.n_urls for child in node.children.values())
        assert node.n_own + kept + sum(child.n_urls for child in node.hidden) == node.n_urls
        assert all(child.n_repeats <= child.n_urls for child in node.hidden)


def test_a_site_of_a_thousand_patterns_is_shown_in_part():
    """The number of branches is bounded, in all and per parent, those with most repeats first; the rest is counted."""
    draw = random.Random(0)
    pages = [
        facts(f"{HOST}/section{section}x/kind{kind}y/{n}", draw.randrange(500))
        for section in range(40)
        for kind in range(40)
        for n in range(10)
    ]
    templater = Templater([HOST, *(f"section{i}x" for i in range(40)), *(f"kind{i}y" for i in range(40))], deep=True)
    root = pattern_tree(pages, cluster, templater)
    leave_most(root)
    every = list(nodes(root))[1:]

    assert len(every) <= MAX_SHOWN
    for node in every:
        repeats = [child.n_repeats for child in node.children.values()]
        assert repeats == sorted(repeats, reverse=True)
        assert len(node.children) <= MAX_CHILDREN
        assert len(node.examples) <= N_EXAMPLES
    assert any(node.hidden for node in every)


def test_paths_of_any_depth_do_not_grow_the_tree():
    """A URL of two hundred folders is a branch like others."""
    deep = "/".join(f"f{i}" for i in range(200))
    root = tree_of([facts(f"{HOST}/{deep}/{n}", 0) for n in range(20)])

    assert max(depths(root)) <= 12


def depths(node, depth=0):
    yield depth
    for child in node.children.values():
        yield from depths(child, depth + 1)


def test_very_many_hosts_share_a_branch():
    """Hosts with few URLs share a branch."""
    root = shown_tree_of([facts(f"http://host{n}.example/x", n) for n in range(3000)])

    assert [child.label for child in root.children.values()] == ["(hosts with few URLs)/x"]


def test_the_site_at_a_glance_counts_what_the_crawl_holds():
    """URLs, pages, repeats, bytes, answers, hosts, the largest pages, and the curve up to the end of the crawl."""
    found = crawl_facts(PAGES, len(PAGES), cluster)

    assert (found.n_urls, found.n_judged, found.n_pages, found.n_repeats) == (240, 240, 120, 120)
    assert (found.n_bytes, found.n_repeat_bytes, found.repeat_share) == (2400, 1200, 0.5)
    assert found.statuses == (("answered", 240),)
    assert found.hosts == (("forum.example", 240),)
    assert {n_urls for _, n_urls in found.largest} == {3}
    assert found.growth[0] == (0, 0)
    assert found.growth[-1] == (240, 120)
    assert list(found.growth) == sorted(found.growth)


def test_redirects_to_what_was_not_crawled_show_nobody_knows_what():
    """A page reached only by redirects was not seen; one that is also answered was, in either order."""
    pages = [
        facts(f"{HOST}/a", 1, status=302),
        facts(f"{HOST}/b", 2, status=302),
        facts(f"{HOST}/c", 2),
        facts(f"{HOST}/d", 3),
        facts(f"{HOST}/e", 3, status=301),
        facts(f"{HOST}/f", 1, status=302),
    ]

    assert crawl_facts(pages, len(pages), cluster).unseen == {1}


def test_an_empty_crawl_has_no_waste():
    """No division by zero."""
    found = crawl_facts([], 0, cluster)

    assert (found.n_urls, found.n_pages, found.repeat_share, found.growth) == (0, 0, 0.0, ((0, 0),))
