"""Choosing target templates."""

from costs import at_most
from dedup_crawler.rules.miners.targets import (
    TemplatedUrl,
    TemplateMapping,
    cluster_targets,
    global_targets,
    mapping_between,
)
from dedup_crawler.urls.templates import Templater, tokenize

HOST = "http://a.example"
TEMPLATER = Templater([HOST, "q", "questions", "page", "users"], deep=True)


def templated(*visits):
    return [TemplatedUrl(HOST + path, *TEMPLATER.split(HOST + path), cluster) for path, cluster in visits]


def fewest_tokens(url):
    return (float(len(tokenize(url.template, deep=True))),)


def test_the_paper_lets_each_cluster_choose():
    """Two clusters with different members choose different targets for one template: the contradiction of SIGIR'17."""
    crawl = templated(("/q/17", 1), ("/questions/17/slug", 1), ("/questions/18", 2), ("/questions/18/other", 2))

    pairs = cluster_targets(crawl, fewest_tokens)

    targets = {target for source, target in pairs if source == f"{HOST}/questions/<num1>/<any2>"}
    assert targets == {f"{HOST}/q/<num1>", f"{HOST}/questions/<num1>"}
    assert pairs[f"{HOST}/q/<num1>", f"{HOST}/q/<num1>"] == 1


def test_the_paper_leaves_singletons_out():
    """A page with one URL is no training pair."""
    assert not cluster_targets(templated(("/q/17", 1), ("/q/18", 2)), fewest_tokens)


def test_one_target_for_all_templates_of_the_same_pages():
    """``/q/N`` is the target of every spelling of a question, also if a cluster has only the other two."""
    crawl = templated(
        *((path, i) for i in range(10, 20) for path in (f"/q/{i}", f"/questions/{i}")),
        *((path, i) for i in range(20, 30) for path in (f"/questions/{i}", f"/questions/{i}/slug{i}x")),
    )

    chosen = {source: mapping.written() for source, mapping in global_targets(crawl, fewest_tokens).items()}

    assert chosen[f"{HOST}/questions/<num1>"] == f"{HOST}/q/<num1>"
    assert chosen[f"{HOST}/questions/<num1>/<any2>"] == f"{HOST}/q/<num1>"


def test_the_target_is_the_one_that_most_urls_reach():
    """A slug cannot be invented: if the plain form is never crawled, ``?page=1`` without a slug is the target."""
    crawl = templated(
        *(
            (path, i)
            for i in range(20, 30)
            for path in (f"/q/{i}-slug{i}x", f"/q/{i}-slug{i}x?page=1", f"/q/{i}?page=1")
        )
    )

    chosen = {source: mapping.written() for source, mapping in global_targets(crawl, fewest_tokens).items()}

    assert chosen == {
        f"{HOST}/q/<num1>-<any2>": f"{HOST}/q/<num1>?page=1",
        f"{HOST}/q/<num1>-<any2>?page=<one3>": f"{HOST}/q/<num1>?page=<one3>",
    }


def test_a_mapping_that_merges_different_pages_is_not_linked():
    """Two coincidences do not make a target: ``?page=N`` shows another page for most N."""
    crawl = templated(
        *((f"/users?page={i}", i) for i in range(20, 60)),
        ("/users", 20),
        ("/users?page=61", 20),
        ("/users/5", 70),
        ("/users?page=62", 70),
    )

    assert not global_targets(crawl, fewest_tokens)


def test_a_mapping_says_where_each_argument_comes_from():
    """Arguments are matched by value, only the constants 0 and 1 may be inserted."""
    (source,) = templated(("/questions/17/slug", 1))
    (plain, defaulted, other) = templated(("/q/17", 1), ("/q/17?page=1", 1), ("/q/18", 1))

    assert mapping_between(source, plain) == TemplateMapping(f"{HOST}/q/<num1>", (1,))
    assert mapping_between(source, defaulted).written() == f"{HOST}/q/<num1>?page=1"
    assert mapping_between(source, other) is None


def test_a_page_with_300_000_urls_is_looked_at_in_part():
    """Only 50 URLs of a page form pairs: a trap takes no quadratic time, and its target is found."""
    template, _ = TEMPLATER.split(f"{HOST}/q/1")
    crawl = [TemplatedUrl(f"{HOST}/q/{i}", template, (str(i),), 0) for i in range(300_000)]

    with at_most(200):
        assert set(global_targets(crawl, lambda _: (0.0,))) <= {template}
