"""What all miners do: on planted sites, and on hostile ones, with traps, contradictions, and nothing to learn."""

import pytest

from command_line import run
from costs import at_most
from dedup_crawler.errors import BadInputError
from dedup_crawler.methods import METHODS, make_method
from dedup_crawler.methods.rule_based import RuleBased
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.store import PageStore
from planted_site import HOST, session_ids, slugs

MINERS = [name for name, method in METHODS.items() if issubclass(method, RuleBased)]


@pytest.fixture(params=MINERS)
def name(request):
    return request.param


OPTIONS = {"rewrite-rules": {"fan_out": 2}}  # the fan-out of the paper asks for more visits


def test_session_ids_go(name):
    """One rule drops the session id of every topic, with its evidence."""
    crawl = session_ids()
    method = make_method(name, **OPTIONS.get(name, {})).fit(crawl.urls, crawl.clusters)
    url = f"{HOST}/topic.php?t=9&sid=00c0ffee00c0ffee"

    assert method.n_learnt() == 1
    assert method.canonicalize(url) == f"{HOST}/topic.php?t=9"
    assert "60 groups, 0 contradictions" in method.explain(url).reason


@pytest.mark.parametrize("name", ["duster", "pattern-tree"])
def test_slugs_go_and_pages_stay_apart(name):
    """The slug varies within a page, the number does not: each question has one form, and no two share it."""
    crawl = slugs()
    forms = make_method(name).fit(crawl.urls, crawl.clusters).canonicalize_many(crawl.urls)

    assert len(set(forms)) == len(set(zip(forms, crawl.clusters, strict=True))) == len(set(crawl.clusters))


def test_one_page_under_very_many_urls(name):
    """A trap costs linear time in its URLs; the growth benchmark has 300,000 of them."""
    trap = [f"{HOST}/trap/{i % 50}?a={i}&b={i * 7}" for i in range(10_000)]
    sessions = [f"{HOST}/topic?id=1&sid={i:x}" for i in range(10_000)]
    options = {"min_clusters": 1} if name == "duster" else {}  # otherwise it learns nothing from one page

    with at_most(400):
        make_method(name, **options).fit(trap, [0] * len(trap))
        method = make_method(name, **options).fit(sessions, [0] * len(sessions))

    assert len(set(method.canonicalize_many(sessions))) == 1


@pytest.mark.parametrize(
    ("name", "option", "value", "said"),
    [
        ("rewrite-rules", "fan_out", -1, "fan_out is -1; give"),
        ("rewrite-rules", "max_fpr", -1, "max_fpr is -1; give"),
        ("rewrite-rules", "max_per_cluster", -1, "max_per_cluster is -1; give"),
        ("decision-tree", "max_fpr", 2, "max_fpr is 2; give"),
        ("decision-tree", "min_coverage", 0, "min_coverage is 0; give"),
        ("pattern-tree", "max_fpr", 2, "max_fpr is 2"),
        ("pattern-tree", "selection", "x", "graph, naive"),
        ("dustbuster", "min_support", 0, "min_support is 0"),
        ("dustbuster", "max_tokens", 0, "max_tokens is 0"),
        ("dustbuster", "max_tokens", 300, "255 or less"),
        ("dustbuster", "max_bucket", 1, "max_bucket is 1"),
        ("dustbuster", "validate", -1, "validate is -1"),
        ("dustbuster", "epsilon", 1.0, "epsilon is 1.0"),
        ("duster", "max_fpr", -1, "max_fpr is -1; give"),
        ("duster", "min_clusters", 0, "min_clusters is 0; give"),
        ("duster", "min_urls", 0, "min_urls is 0; give"),
        ("duster", "max_per_cluster", 1, "max_per_cluster is 1; give"),
    ],
)
def test_options_out_of_range_are_named(name, option, value, said):
    """One line with the option, its value, and the allowed values."""
    with pytest.raises(BadInputError, match=f"{name}: .*{said}"):
        make_method(name, **{option: value}).fit([f"{HOST}/"], [0])


def test_all_singletons_teach_nothing(name):
    """Every URL is a page: no rule, and every URL keeps its own form."""
    urls = [f"{HOST}/t/{i}?sid={i % 7}" for i in range(300)]
    method = make_method(name).fit(urls, range(300))

    assert method.n_learnt() == 0
    assert method.canonicalize_many(urls) == urls
    assert "no rule" in method.explain(urls[0]).reason


def test_one_page_only(name):
    """A site with one page under all URLs is learnt from without an error; a URL of another shape stays."""
    urls = [f"{HOST}/t/{i % 10}?v={i}" for i in range(300)]
    method = make_method(name).fit(urls, [0] * 300)
    other = f"{HOST}/other/path/of/many/pieces.html"

    assert method.canonicalize(other) == other


def test_circular_and_conflicting_pages_settle(name):
    """Mirrors in both directions, and half of the pages contradicting: a form is always its own form."""
    visits = [(i, f"/a/{i}") for i in range(60)] + [(i, f"/b/{i}") for i in range(60)]
    visits += [(i, f"/c/{i}") for i in range(60)] + [
        (100 + i % 2, f"/{where}/x{i}") for i in range(40) for where in "ab"
    ]
    urls = [HOST + rest for _, rest in visits]
    method = make_method(name).fit(urls, [page for page, _ in visits])

    for url in [*urls, f"{HOST}/a/999", f"{HOST}/b/999", f"{HOST}/c/999"]:
        form = method.canonicalize(url)
        assert method.canonicalize(form) == form


def test_urls_that_are_none(name):
    """Empty strings, other schemes, thousands of parts and names: fit and use without an error."""
    urls = ["", "mailto:x@y", "http://", f"{HOST}/" + "a/" * 3000, f"{HOST}/?" + "&".join(f"n{i}" for i in range(3000))]
    method = make_method(name).fit([*urls, *urls], [*range(5), *range(5)])

    assert len(method.canonicalize_many(urls)) == 5


def test_train_says_in_one_line_that_there_is_nothing_to_learn(name, tmp_path):
    """A site without duplicates is no error; the user is told, and the model keeps every URL."""
    db = tmp_path / "crawl.db"
    with PageStore(db) as store:
        store.add_many(Page(url=f"{HOST}/{i}") for i in range(12))
        store.flush()
        store.write_clusters({f"{HOST}/{i}": i for i in range(12)})

    done = run("train", name, "--db", db, "--model", tmp_path / "model")

    assert done.exit_code == 0, done.output
    assert [line.strip() for line in done.output.splitlines() if "no rules" in line] == [
        "no rules were learnt: 12 URLs show 12 pages"
    ]


def test_collection_goes_on_as_it_was(name):
    """Mining pauses the garbage collector, and resumes it."""
    import gc

    make_method(name).fit([f"{HOST}/x"], [0])
    assert gc.isenabled()
    gc.disable()
    try:
        make_method(name).fit([f"{HOST}/x"], [0])
        assert not gc.isenabled()
    finally:
        gc.enable()
