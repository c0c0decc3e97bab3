"""One host's crawl: rules within their budget, and links after them."""

import pytest

from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.learning.belief import RISKS, UNKNOWN, Belief
from dedup_crawler.rules.learning.host_crawl import HostCrawl, learn_links, learn_rules
from planted_visits import HOST, numbered, shuffled


def crawl_of(visits, targets=None, referrers=None):
    urls, pages = numbered(visits)
    none = [None] * len(urls)
    return HostCrawl(HOST, urls, pages, targets or none, referrers or none)


def neutral_keys(n_pages, n_keys):
    """Return each page plain, and once with each of the keys."""
    visits = [(page, f"/{page}") for page in range(n_pages)]
    return shuffled(visits + [(page, f"/{page}?k{key}=1") for page in range(n_pages) for key in range(n_keys)])


def test_all_rules_together_keep_to_the_budget():
    """Six rules that are never wrong may lose one page each. Two thousand pages allow six losses, so all stay.

    Two hundred pages allow one rule, and the safe profile fewer.
    """

    def n_rules(n_pages, risk):
        return len(learn_rules(crawl_of(neutral_keys(n_pages, 6)), Belief(RISKS[risk]), "verified")[0])

    assert n_rules(2000, "balanced") == 6
    assert n_rules(200, "balanced") == 1
    assert n_rules(2000, "safe") < 6


def test_names_in_the_query_that_few_urls_have_are_not_known():
    """Seven URLs with a name are no evidence, eight are."""
    visits = [(n, f"/{n}?often=1") for n in range(8)] + [(n + 10, f"/{n}?seldom=1") for n in range(7)]
    links, _ = learn_links(crawl_of(visits), RuleEngine([]), Belief(RISKS["balanced"]))

    assert links.query_names == {"often"}


@pytest.mark.parametrize(
    ("n_groups", "n_wrong", "matters"),
    [(0, 0, False), (2, 2, False), (3, 3, True), (100, 3, False), (100, 11, True)],
)
def test_the_query_is_sorted_until_that_is_contradicted(n_groups, n_wrong, matters):
    """Also without evidence; two wrong groups are accidents, and so are three of a hundred.

    A URL that was met twice, and a redirect to an uncrawled URL, are no evidence.
    """
    visits = [(n, f"/{n}?a=1&b=2") for n in range(n_groups)]
    visits += [(("other", n) if n < n_wrong else n, f"/{n}?b=2&a=1") for n in range(n_groups)]
    visits += [((n, time), f"/twice/{n}?b=2&a=1") for n in range(20) for time in range(2)]
    visits += [visit for n in range(20) for visit in (((n, "left"), f"/left/{n}?a=1&b=2"), ("?", f"/left/{n}?b=2&a=1"))]
    urls, pages = numbered(visits)
    known = [UNKNOWN if page == "?" else number for (page, _), number in zip(visits, pages, strict=True)]
    none = [None] * len(urls)
    links, _ = learn_links(HostCrawl(HOST, urls, known, none, none), RuleEngine([]), Belief(RISKS["balanced"]))

    assert links.is_ordered is matters


def test_a_contradiction_costs_nothing_if_another_url_shows_the_page():
    """Links to posts lead to the topic, or to its second page, which has a URL of its own; else it would be lost."""
    posts = [(n, f"/{n}?post={10 * n + m}") for n in range(600) for m in range(2)]
    second = [(1000 + n, f"/{n}?post={10 * n + 5}") for n in range(6)]
    pages = [(1000 + n, f"/{n}?page=2") for n in range(6)]
    topics = [(n, f"/{n}{print}") for n in range(600) for print in ("", "?print=1")]  # one more rule, the best one

    def n_forms(visits):
        urls, _ = numbered(shuffled(visits))
        rules, _ = learn_rules(crawl_of(shuffled(visits)), Belief(RISKS["balanced"]), "verified")
        return len({RuleEngine(rules).form(url) for url in urls if "post" in url})

    assert n_forms([*topics, *posts, *second, *pages]) == 600
    assert n_forms([*topics, *posts, *second]) == len([*posts, *second])


def test_what_redirects_to_where_nobody_went_shows_what_its_form_shows():
    """Posts redirect to an alias of their topic that was not crawled; by the rules it is the topic.

    Without the rule each alias is a separate page, and the posts are no evidence about the topics.
    """
    topics = [(t, f"/topic/{t}") for t in range(120)]
    alias = [(t, f"/topic/{t}?page=1") for t in range(120)]
    later = [(t + 200, f"/topic/{t + 200}") for t in range(120)]
    visits = shuffled([*topics, *alias])
    met, targets, referrers = list(visits), [None] * len(visits), [None] * len(visits)
    for topic, url in later:
        met += [(topic, url), (("unknown", topic), f"/post/{7 * topic}")]
        targets += [None, f"http://{HOST}{url}?page=1"]
        referrers += [None, f"http://{HOST}{url}"]
    urls, pages = numbered(met)
    known = [UNKNOWN if target is not None else page for page, target in zip(pages, targets, strict=True)]
    crawl = HostCrawl(HOST, urls, known, targets, referrers)
    belief = Belief(RISKS["balanced"])
    rules, _ = learn_rules(crawl_of([*visits, *later]), belief, "verified")

    assert len(learn_links(crawl, RuleEngine(rules), belief)[0].referrer_rules) == 1
    assert len(learn_links(crawl, RuleEngine([]), belief)[0].referrer_rules) == 0
