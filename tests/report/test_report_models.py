"""The report on a model: its effect on the crawl, by rule."""

import json

import pytest

from dedup_crawler.errors import DamagedModelError
from dedup_crawler.evaluation.simulated_crawl import replay
from dedup_crawler.methods import load_model, make_method
from dedup_crawler.methods.model.folder import write_model
from dedup_crawler.methods.wrapped import StaticFront
from dedup_crawler.pages.records import PageFacts
from dedup_crawler.report import model_facts as tested
from dedup_crawler.report.model_facts import MAX_RULES, N_EXAMPLES, model_facts
from dedup_crawler.rules.exchange.static_rules import StaticLayer
from planted_forum import forum
from planted_site import HOST, session_ids

CRAWL = session_ids()


def facts(url, page, referrer=None):
    return PageFacts(url, referrer, 200, "", page, None, None)


PAGES = [facts(url, page) for url, page in zip(CRAWL.urls, CRAWL.clusters, strict=True)]


def cluster(each):
    return each.cluster


@pytest.fixture(scope="module")
def model():
    return make_method("verified").fit(CRAWL.urls, CRAWL.clusters)


def described(model, tmp_path, pages=PAGES, **options):
    return model_facts(tmp_path / "forum", model, pages, cluster, **options)


def test_the_crawl_is_replayed_as_it_is_judged_elsewhere(model, tmp_path):
    """Fetches, lost pages and saved fetches are those of the simulated crawl of SIGIR'17 with the same forms."""
    found = described(model, tmp_path)

    expected = replay(model.canonicalize_many(CRAWL.urls), CRAWL.clusters)
    assert found.on_crawl.outcome == expected
    assert found.on_crawl.n_dropped == expected.n_urls - expected.n_fetched == 120
    assert found.on_crawl.n_wrong == 0


def test_a_rule_has_its_drops_and_examples(model, tmp_path):
    """The session rule dropped every second visit; an example names the URL fetched instead."""
    found = described(model, tmp_path)
    rule = found.rules[0]

    assert rule.sentence.startswith("drop `sid` anywhere")
    assert rule.on_crawl.n_dropped == 120
    assert 0 < rule.promised < 0.1
    assert len(rule.on_crawl.right) == N_EXAMPLES
    for example in rule.on_crawl.right:
        assert example.url != example.owner
        assert model.canonicalize(example.url) == model.canonicalize(example.owner)
        assert "sid" in example.reason


def test_a_plain_url_is_dropped_by_the_rules_of_the_one_that_came_first(model, tmp_path):
    """The plain URL is its own form; it is a repeat because a rule changed the earlier URL."""
    first, plain = f"{HOST}/topic.php?t=7&sid={'a1' * 8}", f"{HOST}/topic.php?t=7"
    found = described(model, tmp_path, [facts(first, 1), facts(plain, 1)])

    assert found.rules[0].on_crawl.right[0].url == plain
    assert found.rules[0].on_crawl.right[0].owner == first


def test_wrong_drops_are_counted_and_shown(model, tmp_path):
    """On another crawl the session id decides: each such drop is wrong, and the page lost."""
    pages = [facts(f"{HOST}/topic.php?t={t}&sid={s}{'a1' * 8}", (t, s)) for t in range(20) for s in range(3)]
    found = described(model, tmp_path, pages)
    rule = found.rules[0]

    assert (found.on_crawl.n_wrong, found.on_crawl.outcome.n_lost) == (40, 40)
    assert (rule.on_crawl.n_dropped, rule.on_crawl.n_wrong) == (40, 40)
    assert len(rule.on_crawl.wrong) == N_EXAMPLES
    assert rule.on_crawl.right == []


def test_links_count_as_they_do_in_a_live_crawl(tmp_path):
    """Covered posts need no fetch, and lose nothing: their pages are reached otherwise."""
    crawl = forum()
    model = make_method("verified").fit(crawl.urls, crawl.clusters, crawl.referrers, crawl.redirects)
    pages = [facts(*each) for each in zip(crawl.urls, crawl.clusters, crawl.referrers, strict=True)]
    found = described(model, tmp_path, pages)

    assert any("shows only pages that other URLs show" in rule.sentence for rule in found.rules)
    skipped = next(rule for rule in found.rules if "shows only pages" in rule.sentence)
    assert skipped.on_crawl.n_dropped > 100
    assert skipped.on_crawl.right[0].owner is None
    assert found.on_crawl.n_wrong == found.on_crawl.outcome.n_lost == 0


def test_whether_it_is_a_test_at_all_is_said(model, tmp_path):
    """A model that was trained on these pages is recognized by its training digest."""
    digest = model.data_digest_

    assert described(model, tmp_path, crawl_digest=digest).is_own_crawl
    assert not described(model, tmp_path, crawl_digest=digest[::-1]).is_own_crawl
    assert not described(model, tmp_path).is_own_crawl


def test_without_a_crawl_the_rules_are_told_all_the_same(model, tmp_path):
    """Without a crawl, sentences and evidence come from the model alone."""
    found = described(model, tmp_path, None)

    assert found.on_crawl is None
    assert any("sid" in rule.sentence and rule.n_groups > 0 for rule in found.rules)


def test_a_long_crawl_is_tried_in_part(model, tmp_path, monkeypatch):
    """Only a bounded number of first URLs is read, not counting those whose page nobody knows; the report says so."""
    monkeypatch.setattr(tested, "MAX_URLS", 50)
    read = []
    found = described(model, tmp_path, (read.append(each) or each for each in [facts(f"{HOST}/x", None), *PAGES]))

    assert (found.on_crawl.outcome.n_urls, found.on_crawl.is_cut) == (50, True)
    assert not described(model, tmp_path, PAGES[:50]).on_crawl.is_cut
    assert len(read) == 52  # one more tells that there are more


def test_a_model_of_a_thousand_rules_is_shown_in_part(tmp_path):
    """Rules with most drops come first; the others are counted."""
    urls, pages = [], []
    for section in range(90):
        for n in range(12):
            urls += [f"{HOST}/s{section}/x?id={n}", f"{HOST}/s{section}/x?id={n}&k{section}=1"]
            pages += [(section, n)] * 2
    numbers = {page: number for number, page in enumerate(dict.fromkeys(pages))}
    learner = make_method("rewrite-rules", fan_out=5).fit(urls, [numbers[page] for page in pages])
    assert learner.n_learnt() > MAX_RULES
    found = described(learner, tmp_path, [facts(url, page) for url, page in zip(urls, pages, strict=True)])

    assert len(found.rules) == MAX_RULES
    assert found.n_rules >= learner.n_learnt()
    drops = [rule.on_crawl.n_dropped for rule in found.rules]
    assert drops == sorted(drops, reverse=True)


@pytest.mark.parametrize("name", ["keep-all", "scrapy", "strip-query", "pattern-tree", "dustbuster", "duster"])
def test_every_method_can_be_told_of(name, tmp_path):
    """Methods without own rules have the description of the protocol."""
    found = described(make_method(name).fit(CRAWL.urls, CRAWL.clusters), tmp_path)

    assert found.model.name == name
    assert found.summary
    assert found.on_crawl.outcome.n_urls == len(PAGES)
    assert all(rule.sentence for rule in found.rules)


def test_a_pair_classifier_is_not_asked_for_every_url(tmp_path):
    """Pair classifiers take milliseconds per answer, so their held-out pairs are shown instead, also behind rules."""
    classifier = make_method("random-forest", trees=2).fit(CRAWL.urls, CRAWL.clusters)
    for model in (classifier, StaticFront(classifier, StaticLayer([]))):
        found = described(model, tmp_path)

        assert found.is_pair_classifier
        assert found.on_crawl is None
        assert found.model.history_.held_out is not None


def test_a_model_folder_of_a_stranger_is_read_with_care(model, tmp_path):
    """Invalid counts are refused in one line; tables of a thousand entries do not fill the page."""
    folder = model.save(tmp_path / "model")
    description = json.loads((folder / "model.json").read_text())
    del description["files"], description["digest"], description["format"]
    description["quality"] = {**description["quality"], **{f"q{n}": "x" * 1000 for n in range(1000)}}

    write_model(tmp_path / "strange", description, model._tables())
    found = described(load_model(tmp_path / "strange"), tmp_path)

    assert len(found.quality) == 20
    description["counts"] = {"urls": "<script>", "clusters": [1]}
    write_model(tmp_path / "strange", description, model._tables())
    with pytest.raises(DamagedModelError, match=r"model\.json, 'counts', 'urls'"):
        load_model(tmp_path / "strange")
