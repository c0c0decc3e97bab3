"""The different drops of two models, compared with two real crawls of a list, one by one."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from click.testing import CliRunner

from dedup_crawler.cli import main
from dedup_crawler.live.models.model_diff import diff_models
from dedup_crawler.methods import Referrer, make_method
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.language.matchers import ANY, Literal
from dedup_crawler.rules.language.operations import Drop
from dedup_crawler.rules.language.rule import Rule
from planted_forum import HOST as FORUM
from planted_forum import forum
from planted_site import HOST, session_ids

CRAWL = session_ids()


def model_of(*rules):
    """A model with just these rules."""
    model = make_method("rewrite-rules").fit(CRAWL.urls, CRAWL.clusters)
    model.engine_ = RuleEngine(rules)
    return model


DROP_SID = Rule("forum.example", {"query[sid]": ANY}, {"query[sid]": Drop()})
DROP_PAGE = Rule("forum.example", {"query[page]": Literal("1")}, {"query[page]": Drop()})
DROP_LANG = Rule("forum.example", {}, {"query[lang]": Drop()})


def test_each_side_by_its_rules():
    """Drops of the new model alone, of the old one alone, and of both; the first URL of a page is fetched."""
    old, new = model_of(DROP_SID, DROP_LANG), model_of(DROP_SID, DROP_PAGE)
    queries = ["t=1", "t=1&sid=a", "t=1&sid=a", "t=1&page=1", "page=1&t=2", "t=2", "lang=de&t=1", "lang=en&t=2", "t=3"]
    found = diff_models(old, new, [(f"{HOST}/topic.php?{query}", None) for query in queries], n_examples=1)

    assert (found.n_urls, found.n_both, found.n_only_new, found.n_only_old) == (9, 2, 2, 2)
    [by_page], [by_lang] = found.only_new, found.only_old
    assert by_page.sentence.startswith("drop `page` where `page` is 1: ")
    assert by_page.n_urls == 2
    assert [(link.url, link.form) for link in by_page.examples] == [
        (f"{HOST}/topic.php?t=1&page=1", f"{HOST}/topic.php?t=1")
    ]
    assert by_lang.sentence.startswith("drop `lang` anywhere: ")


def test_a_url_that_comes_again_is_no_duplicate():
    """A repeated URL is a known request: no model is used."""
    found = diff_models(model_of(), model_of(DROP_SID), [(f"{HOST}/topic.php?t=1", None)] * 5)

    assert (found.n_urls, found.n_both, found.only_new, found.only_old) == (5, 0, [], [])


def test_links_are_judged_with_the_page_that_holds_them():
    """Posts that show their topic are dropped by the model that knows it, and only with their referrer."""
    crawl = forum(60)
    columns = (crawl.urls, crawl.clusters, crawl.referrers, crawl.redirects)
    old, new = make_method("keep-all").fit(*columns), make_method("verified").fit(*columns)
    links = list(zip(crawl.urls, crawl.referrers, strict=True))
    found = diff_models(old, new, links)
    alone = diff_models(old, new, [(url, None) for url, _ in links])

    assert found.n_only_new == sum(url.startswith(f"{FORUM}/post/") for url in crawl.urls)
    assert all("/post/*" in drops.sentence for drops in found.only_new)
    assert alone.n_only_new == 0


def test_the_same_as_asking_one_by_one():
    """Law: the counts are those of a loop over the list that remembers every form."""
    crawl = forum(60)
    columns = (crawl.urls, crawl.clusters, crawl.referrers, crawl.redirects)
    models = [make_method(name).fit(*columns) for name in ("pattern-tree", "strip-query")]
    urls = [url + query for url in crawl.urls for query in ("", "?a=1", "?a=2&b=1")]

    def dropped(model):
        seen = {}
        return [seen.setdefault(model.canonicalize(url), url) != url for url in urls]

    by_old, by_new = map(dropped, models)
    found = diff_models(*models, [(url, None) for url in urls])

    assert found.n_both == sum(a and b for a, b in zip(by_old, by_new, strict=True))
    assert found.n_only_new == sum(b and not a for a, b in zip(by_old, by_new, strict=True))
    assert found.n_only_old == sum(a and not b for a, b in zip(by_old, by_new, strict=True))


def test_referrer_forms_are_those_of_the_link():
    """A dropped page, as a referrer, counts as the page it was dropped for."""
    crawl = forum(60)
    model = make_method("verified").fit(crawl.urls, crawl.clusters, crawl.referrers, crawl.redirects)
    links = [(f"{FORUM}/topic/900", None), (f"{FORUM}/post/9000", f"{FORUM}/topic/900")]
    assert model.canonicalize(links[1][0], Referrer(links[0][0], links[0][0])) == links[0][0]

    found = diff_models(make_method("keep-all").fit(crawl.urls, crawl.clusters), model, links)

    assert found.only_new[0].examples[0].form == f"{FORUM}/topic/900"


def test_memory_is_that_of_the_forms():
    """A list of 3,000 different URLs, streamed: under 200 bytes for each and model."""
    models = model_of(DROP_SID), model_of(DROP_PAGE)
    tracemalloc.start()
    found = diff_models(*models, ((f"{HOST}/topic.php?t={n}&sid={n}", None) for n in range(3_000)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert found.n_urls == 3_000
    assert peak < 2 * 3_000 * 200


@pytest.fixture
def folders(tmp_path):
    model_of(DROP_SID).save(tmp_path / "old")
    model_of(DROP_SID, DROP_PAGE).save(tmp_path / "new")
    return str(tmp_path / "old"), str(tmp_path / "new")


def test_the_command_says_it_in_words_and_in_json(folders):
    """The same from arguments and from stdin; sentences for a person, counts and examples for a program."""
    urls = [f"{HOST}/topic.php?t=1", f"{HOST}/topic.php?t=1&page=1"]
    told = CliRunner().invoke(main, ["diff", *folders, *urls])
    lines = CliRunner().invoke(main, ["diff", *folders, "--json"], input=f"{urls[0]}\t{HOST}/\n\n{urls[1]}\n")

    assert told.exit_code == 0, told.output
    assert told.stdout.splitlines()[0] == "2 URLs, 0 dropped by both models"
    assert "  1: drop `page` where `page` is 1: " in told.stdout
    assert f"{urls[1]} = {urls[0]}" in told.stdout
    found = json.loads(lines.stdout)
    assert (found["urls"], found["both"], found["only_old"]) == (2, 0, [])
    assert found["only_new"][0]["n_urls"] == 1
    assert found["only_new"][0]["examples"] == [{"url": urls[1], "referrer": None, "form": urls[0]}]


def test_wrong_calls_are_told(folders):
    """Two sources of URLs are one too many; a folder that is no model is one line."""
    both = CliRunner().invoke(main, ["diff", *folders, "http://a/", "--db", "crawl.db"])
    none = CliRunner().invoke(main, ["diff", folders[0], folders[0] + "er", "http://a/"])

    assert both.exit_code == 2
    assert none.exit_code == 1
    assert len(none.stderr.strip().splitlines()) == 1
