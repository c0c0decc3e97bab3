"""DustBuster as a method: learning from a crawl or from sizes, and its limits."""

import pytest

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods import load_model, miners
from dedup_crawler.methods.miners import DustBuster
from planted_site import session_ids

ORIGIN = "http://forum.example"


def planted():
    """Return fifty topics with session ids, print views and another script name; and members with one URL each."""
    pages = []
    for n in range(50):
        plain = f"{ORIGIN}/topic?id={n}"
        others = (f"{plain}&sid={n * 7919 % 997:x}", f"{plain}&print=1", f"{ORIGIN}/topic_{n}")
        pages += [(url, n) for url in (plain, *others)]
    return pages + [(f"{ORIGIN}/member?id={n}", 100 + n) for n in range(50)]


def test_learns_from_a_crawl_what_never_changes_the_page():
    """Each topic has one form under all its URLs, also new topics and session ids."""
    urls, clusters = zip(*planted(), strict=True)
    method = DustBuster().fit(urls, clusters)
    forms = {
        method.canonicalize(f"{ORIGIN}/{rest}")
        for rest in (
            "topic?id=77",
            "topic?id=77&sid=ff",
            "topic?id=77&print=1",
            "topic_77",
            "topic?print=1&sid=9&id=77",
        )
    }

    assert len(forms) == 1
    assert method.canonicalize(f"{ORIGIN}/topic?id=78") not in forms
    assert method.canonicalize(f"{ORIGIN}/member?id=77") == f"{ORIGIN}/member?id=77"
    assert method.canonicalize("http://other.example/topic?id=7&sid=1") == "http://other.example/topic?id=7&sid=1"


def test_learns_the_same_from_sizes():
    """Sizes of one topic overlap, those of two topics do not: the rules equal those of the crawl."""
    urls, clusters = zip(*planted(), strict=True)
    sizes = [(1000 + 20 * page, 1009 + 20 * page) for page in clusters]
    by_sizes = DustBuster().fit_sizes(urls, sizes)
    by_pages = DustBuster().fit(urls, clusters)

    assert [str(rule) for rule in by_sizes.engine_.rules] == [str(rule) for rule in by_pages.engine_.rules]
    assert by_sizes.quality_ == {"rules": len(by_sizes.engine_.rules)}


def test_the_evidence_is_merge_groups_as_for_all_methods():
    """Three session ids of each of fifty topics are 150 pairs of URLs, and fifty merge groups."""
    found = [(f"{ORIGIN}/topic?id={n}&sid={sid}", n) for n in range(50) for sid in ("a1", "b2", "c3")]
    pages = [*found, *((f"{ORIGIN}/topic?id={n}", n) for n in range(50))]
    (rule,) = DustBuster().fit(*zip(*pages, strict=True)).engine_.rules
    assert (rule.evidence.n_groups, rule.evidence.n_wrong, rule.statistics.n_urls) == (50, 0, 150)


def test_says_what_it_learnt_and_why(tmp_path):
    """Each rule in one sentence with its evidence, the same after loading; a model of sizes loads like any other."""
    urls, clusters = zip(*planted(), strict=True)
    method = DustBuster().fit_sizes(urls, [(page, page) for page in clusters])
    loaded = load_model(method.save(tmp_path / "model"))

    assert any("drop query[sid]" in line and "0 wrong" in line for line in loaded.learnt())
    explained = loaded.explain(f"{ORIGIN}/topic?id=7&sid=5")
    assert "topic_7" in explained.form or "topic?id=7" in explained.form
    assert "sid" in explained.reason
    assert loaded.learnt() == method.learnt()


def test_a_page_without_content_says_nothing():
    """URLs with only empty answers are all alike, and teach no rule."""
    urls = [f"{ORIGIN}/{n}{end}" for n in range(20) for end in ("", "/feed")]

    assert DustBuster().fit_sizes(urls, [(0, 0)] * 40).engine_.rules == []
    assert len(DustBuster().fit_sizes(urls, [(n // 2 + 1,) * 2 for n in range(40)]).engine_.rules) == 1


def test_sizes_have_to_fit_the_urls():
    """A support of up to the number of URLs, and above."""
    with pytest.raises(BadInputError, match="1 URLs and 2 sizes"):
        DustBuster().fit_sizes([f"{ORIGIN}/"], [(1, 1), (2, 2)])
    with pytest.raises(BadInputError, match="no URLs"):
        DustBuster().fit_sizes([], [])


def test_of_a_page_with_very_many_urls_the_first_are_learnt_from(monkeypatch):
    """Only the first URLs of a huge page count; all URLs of other pages count, at any place."""
    trap = [f"http://a.example/trap?n={n}" for n in range(40)]
    others = [f"http://a.example/topic/{n}{end}" for n in range(12) for end in ("", "?print=1")]
    pages = [1 + n // 2 for n in range(len(others))]
    bounded = DustBuster().fit(trap[:10] + others, [0] * 10 + pages).learnt()
    monkeypatch.setattr(miners, "_MAX_OF_PAGE", 10)

    learnt = DustBuster().fit(trap + others, [0] * len(trap) + pages).learnt()

    assert learnt == bounded
    assert any("print" in rule for rule in learnt)


def test_two_sites_are_learnt_apart():
    """A rule of one host is not applied to another one of the same crawl."""
    crawl = session_ids()
    other = [f"http://other.example/{n}?sid={n}" for n in range(50)]
    method = DustBuster().fit([*crawl.urls, *other], [*crawl.clusters, *range(1000, 1050)])

    assert method.canonicalize(f"{ORIGIN}/topic.php?t=107&sid=1") == f"{ORIGIN}/topic.php?t=107"
    assert method.canonicalize(other[7]) == other[7]
