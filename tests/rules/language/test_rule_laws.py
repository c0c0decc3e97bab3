"""The laws of rules, run on every method: the fired rules of a URL, and models without some rules."""

import functools
import itertools
import json
import os
import random
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup_crawler.errors import BadInputError, NotFittedError
from dedup_crawler.methods import METHODS, Referrer, load_model, make_method
from dedup_crawler.methods.wrapped import without
from dedup_crawler.rules.language.matchers import ANY, Literal
from dedup_crawler.rules.language.operations import Copy, Drop, Set
from dedup_crawler.rules.language.rule import Rule, SubstringRule
from dedup_crawler.urls.normal import normal_form
from planted_forum import forum
from planted_site import HOST, session_ids
from url_strategies import urls as any_urls


def site(n_topics):
    """Topics with session ids, and a forum whose posts show them, mixed: rules of every kind."""
    topics, posts = session_ids(), forum(n_topics)
    links = iter(zip(*vars(posts).values(), strict=True))
    rows = []
    for url, page in zip(topics.urls, topics.clusters, strict=True):
        rows += [(url, 10**6 + page, f"{HOST}/", None), *itertools.islice(links, n_topics // 30)]
    return dict(zip(("urls", "clusters", "referrers", "redirects"), map(list, zip(*rows, strict=True)), strict=True))


COLUMNS = site(60)
QUICK = {"seq2seq": {"hidden": 32}, "siamese": {"hidden": 16, "epochs": 3, "members": 1}}
LAWS = settings(
    max_examples=50,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
COVERED, OVERLAPPING = "verified, with a rule that covers", "dustbuster, with rules that overlap"
FOREIGN = "http://other.example/topic.php?t=1&sid=2"


def made(name):
    return make_method(name, **QUICK.get(name, {}))


@functools.cache
def fitted_model(name):
    if name == COVERED:
        return made("verified").fit(**site(300))
    if name == OVERLAPPING:
        model = made("dustbuster").fit(**COLUMNS)
        model.keep(overlapping_rules())
        return model
    return made(name).fit(**COLUMNS)


def overlapping_rules():
    """One rule replaces another, two send URLs in a circle, one continues another's work."""
    host = HOST.partition("://")[2]
    topic, sid = {"path[0]": Literal("topic")}, {"query[sid]": ANY}
    return [
        Rule(host, topic | sid, {"query[sid]": Drop()}),
        Rule(host, sid, {"query[sid]": Drop()}),
        Rule(host, {"query[t]": Literal("100")}, {"query[t]": Set("101")}),
        Rule(host, {"query[t]": Literal("101")}, {"query[t]": Set("102")}),
        Rule(host, {"query[t]": Literal("102"), "query[u]": ANY}, {"query[t]": Set("100")}),
        Rule(host, {"query[u]": Literal("")}, {"query[u]": Drop()}),
        Rule(host, {"query[new]": ANY}, {"query[t]": Copy("query[new]"), "query[new]": Drop()}),
        SubstringRule(host, "/other.php?t=1", "/topic.php?", at_start=True),
        SubstringRule(host, "utm_source=", "", at_end=True),
    ]


@pytest.fixture(params=[*METHODS, COVERED, OVERLAPPING])
def fitted(request):
    return fitted_model(request.param)


_numbers = st.one_of(st.integers(100, 160), st.integers(100, 102)).map(str)
_values = st.one_of(_numbers, st.sampled_from(["", "00c0ffee00c0ffee", "0123456789abcdef"]))
_parameters = st.lists(st.tuples(st.sampled_from(["t", "sid", "u", "new", "utm_source"]), _values), max_size=4)
_scripts = st.sampled_from(["topic.php", "member.php", "other.php", "www/", ""])
planted_urls = st.one_of(
    st.sampled_from(COLUMNS["urls"]),
    st.builds(
        lambda script, query: f"{HOST}/{script}?{'&'.join(f'{name}={value}' for name, value in query)}",
        _scripts,
        _parameters,
    ),
    st.builds(lambda kind, number: f"{HOST}/{kind}/{number}", st.sampled_from(["topic", "post"]), _numbers),
    any_urls,
)
pages = st.one_of(st.none(), planted_urls, st.just(f"{HOST}/topic/7777"), st.just("http://other.example/topic/7777"))


def referrer_of(model, page):
    return page if page is None else Referrer(page, model.canonicalize(page))


def is_left_alone(model, url, referrer):
    return model.canonicalize(url, referrer) == normal_form(url) and not model.is_covered(url)


@LAWS
@given(url=planted_urls, page=pages)
def test_rules_fired_where_something_changed(fitted, url, page):
    """No rule fired on an uncovered URL in its normal form; some rule fired on any other.

    Fired rules have short identifiers, sentences, and counts.
    """
    referrer = referrer_of(fitted, page)
    fired = fitted.fired(url, referrer)

    assert (not fired) is is_left_alone(fitted, url, referrer)
    assert len(set(fired)) == len(fired)
    for each in fired:
        assert 0 < len(each) <= 16
        assert fitted.rule_sentences()[each]
        n_groups, n_wrong = fitted.rule_evidence()[each]
        assert 0 <= n_wrong <= n_groups


def referrer_rules(fitted):
    return {rule for rule, said in fitted.rule_sentences().items() if "leads back" in said}


@LAWS
@given(url=planted_urls, page=pages, others=st.sets(st.integers(0, 400), max_size=5))
def test_without_what_fired_a_url_is_left_alone(fitted, url, page, others):
    """No other rule takes its place, for any other switched-off rules. Referrer rules might, and are off as well."""
    referrer = referrer_of(fitted, page)
    known = sorted(fitted.rule_sentences())
    off = {*fitted.fired(url, referrer), *(known[number % len(known)] for number in others if known)}
    off |= referrer_rules(fitted)
    less = without(fitted, off)

    assert is_left_alone(less, url, referrer)
    assert less.fired(url, referrer) == ()
    assert less.explain(url, referrer).form == normal_form(url)


@LAWS
@given(url=planted_urls, page=pages, chosen=st.sets(st.integers(0, 400), max_size=4))
def test_without_some_rules(fitted, url, page, chosen):
    """For any choice of rules, only URLs on which they fired change; forms stay their own forms.

    Switched-off rules never fire, and rules that fire then fired before, or are referrer rules.
    """
    known = sorted(fitted.rule_sentences())
    off = {known[number % len(known)] for number in chosen if known}
    less = without(fitted, off)
    referrer = referrer_of(fitted, page)
    before, after = fitted.fired(url, referrer), less.fired(url, referrer)
    form = less.canonicalize(url, referrer)

    if off.isdisjoint(before):
        assert (form, after) == (fitted.canonicalize(url, referrer), before)
        assert less.is_covered(url) is fitted.is_covered(url)
    assert set(after) <= (set(before) | referrer_rules(fitted)) - off
    assert (not after) is is_left_alone(less, url, referrer)
    assert less.explain(url, referrer).form == form
    alone = less.canonicalize(url)
    assert less.canonicalize(alone) == alone
    assert without(less, known).fired(url, referrer) == ()
    assert off.isdisjoint(less.rule_sentences())


def test_without_nothing_it_is_the_same(fitted):
    """No rules, or unknown rules."""
    for less in (without(fitted, ()), without(fitted, ["unknown"])):
        assert less.canonicalize_many(COLUMNS["urls"]) == fitted.canonicalize_many(COLUMNS["urls"])
        assert less.hosts == fitted.hosts
        assert [less.fired(url) for url in COLUMNS["urls"]] == [fitted.fired(url) for url in COLUMNS["urls"]]
        assert [less.is_covered(url) for url in COLUMNS["urls"]] == [fitted.is_covered(url) for url in COLUMNS["urls"]]


def test_without_all_rules_every_url_is_a_page(fitted):
    """It is a fitted model of the same hosts that changes nothing, and leaves the whole model unchanged."""
    before = fitted.canonicalize_many(COLUMNS["urls"])
    none = without(fitted, fitted.rule_sentences())

    assert none.canonicalize_many(COLUMNS["urls"]) == [normal_form(url) for url in COLUMNS["urls"]]
    assert none.rule_sentences() == {}
    assert none.hosts == fitted.hosts
    assert fitted.canonicalize_many(COLUMNS["urls"]) == before


def test_rules_of_another_host(fitted):
    """No rule fires on an unknown host, with or without switched-off rules."""
    assert fitted.fired(FOREIGN) == without(fitted, fitted.rule_sentences()).fired(FOREIGN) == ()


def test_what_is_left_is_neither_fitted_nor_saved(fitted, tmp_path):
    """Evidence is kept with the whole model; the error says so."""
    less = without(fitted, ["unknown"])

    with pytest.raises(BadInputError, match="whole"):
        less.save(tmp_path / "model")
    with pytest.raises(BadInputError, match="fit the whole model itself"):
        less.fit(["http://a/"], [0])


@pytest.mark.parametrize("name", METHODS)
def test_an_unfitted_method_knows_no_rules(name):
    """The description says so."""
    method = made(name)
    for ask in (
        lambda: method.fired(FOREIGN),
        method.rule_sentences,
        method.rule_evidence,
        lambda: method.digest,
        lambda: without(method, ["unknown"]),
    ):
        with pytest.raises(NotFittedError):
            ask()


def facts(model):
    """Return everything that must be equal for equal models."""
    fired = [model.fired(url) for url in COLUMNS["urls"]]
    return [model.digest, fired, dict(model.rule_sentences()), dict(model.rule_evidence())]


def test_a_loaded_model_has_the_same_rules(fitted, tmp_path):
    """Identifiers, sentences, counts; and the digest is that of the folder."""
    folder = fitted.save(tmp_path / "model")

    assert facts(load_model(folder)) == facts(fitted)
    assert fitted.digest == json.loads((folder / "model.json").read_text())["digest"]


@pytest.mark.parametrize("name", [name for name in METHODS if name not in QUICK])
def test_what_is_learnt_again_has_the_same_rules(name):
    """From the same crawl, with another host name and other data in memory."""
    again = made(name)
    again.fit(["http://a.example/"], [0])
    again.rule_sentences()

    assert facts(again.fit(**COLUMNS)) == facts(fitted_model(name))


def test_another_process_has_the_same_rules(tmp_path):
    """Also with another hash seed; and using a model in a crawl loads nothing for training."""
    urls = random.Random(0).sample(COLUMNS["urls"], 100)
    folders = [str(fitted_model(name).save(tmp_path / name)) for name in METHODS]
    code = (
        "import json, sys\n"
        "from dedup_crawler.methods import load_model\n"
        "folders, urls = json.load(sys.stdin)\n"
        "models = [load_model(folder) for folder in folders]\n"
        "facts = [[m.digest, [m.fired(url) for url in urls], dict(m.rule_sentences())] for m in models]\n"
        "print(json.dumps(facts))\n"
        "assert {'torch', 'sklearn', 'scipy'}.isdisjoint(sys.modules)"
    )

    said = [
        subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps([folders, urls]),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]

    models = map(fitted_model, METHODS)
    ours = [[model.digest, [list(model.fired(url)) for url in urls], dict(model.rule_sentences())] for model in models]
    assert json.loads(said[0]) == json.loads(said[1]) == ours
