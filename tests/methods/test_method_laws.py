"""The laws of the protocol, run on every registered method."""

import json

import pytest
from hypothesis import HealthCheck, given, settings

from dedup_crawler.errors import BadInputError, NotFittedError
from dedup_crawler.methods import METHODS, load_model, make_method
from dedup_crawler.urls.normal import normal_form
from planted_site import HOST, session_ids
from url_strategies import urls

CRAWL = session_ids()
QUICK = {"seq2seq": {"hidden": 32}, "siamese": {"hidden": 16, "epochs": 12, "members": 1}}
# known exceptions, with reasons
EXPECTED_FAILURES = {
    ("keep-all", "one form per page"): "keeps every URL by design",
    ("random-forest", "one form per page"): "sees characters at fixed places, not which argument differs",
    ("scrapy", "one form per page"): "knows no session ids",
    ("duplicate-url-discarder", "one form per page"): "its public rules name no parameter sid for every site",
    ("rewrite-rules", "one form per page"): "three visits of a topic are fewer than the fan-out of 10 (KDD'08)",
    ("strip-query", "two pages keep two"): "drops the topic with the query",
}


@pytest.fixture(params=METHODS, scope="module")
def name(request):
    return request.param


@pytest.fixture(scope="module")
def fitted(name):
    method = make(name)
    assert method.fit(CRAWL.urls, CRAWL.clusters) is method  # so that calls can be chained
    return method


def make(name):
    return make_method(name, **QUICK.get(name, {}))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def expected_to_fail(name, law):
    return (name, law) in EXPECTED_FAILURES


def test_a_method_is_registered_under_its_name(name):
    """The name on the command line is that in model files."""
    assert METHODS[name].name == name


def test_an_unfitted_method_names_itself_and_the_way_out(name):
    """Using or saving an unfitted method is an error that says what to call."""
    method = make(name)

    for ask in (lambda: method.canonicalize(f"{HOST}/"), lambda: method.save("never-written")):
        with pytest.raises(NotFittedError, match=rf"{type(method).__name__} .*fit\(urls, clusters\).*load"):
            ask()


def test_a_form_is_its_own_form(fitted):
    """Forms that are URLs are fixed points."""
    for url in CRAWL.urls:
        form = fitted.canonicalize(url)

        assert fitted.canonicalize(form) == form


def test_an_unknown_host_comes_back_in_normal_form(fitted):
    """A model of one host leaves the URLs of another as they are: they are not covered, and explained as unknown."""
    url = "HTTP://Other.example/topic.php?t=100&sid=0123456789abcdef#top"

    assert fitted.canonicalize(url) == normal_form(url)
    assert not fitted.is_covered(url)
    assert "other.example" in fitted.explain(url).reason


def test_the_same_seed_gives_the_same_model(name, fitted, tmp_path):
    """Two models of one seed and one crawl are equal, byte for byte."""
    again = make(name).fit(CRAWL.urls, CRAWL.clusters)

    assert contents(fitted.save(tmp_path / "first")) == contents(again.save(tmp_path / "second"))


def test_a_second_fit_forgets_the_first(name, fitted):
    """A second fit forgets the first one."""
    other = session_ids(30, seed=5)
    twice = make(name)
    twice.fit([url.replace("forum.example", "other.example") for url in other.urls], other.clusters)
    twice.fit(CRAWL.urls, CRAWL.clusters)

    assert twice.hosts == fitted.hosts
    assert twice.canonicalize_many(CRAWL.urls) == fitted.canonicalize_many(CRAWL.urls)


def test_a_saved_model_gives_the_same_forms(fitted, tmp_path):
    """Also for URLs outside the crawl; and the description is readable JSON."""
    folder = fitted.save(tmp_path / "model")
    loaded = load_model(folder)
    new = session_ids(seed=9).urls

    assert type(loaded) is type(fitted)
    assert loaded.canonicalize_many(CRAWL.urls + new) == fitted.canonicalize_many(CRAWL.urls + new)
    assert json.loads((folder / "model.json").read_text())["hosts"] == ["forum.example"]
    assert contents(loaded.save(tmp_path / "again")) == contents(folder)


def test_one_form_per_page(name, fitted):
    """On the planted site a topic has one form, for any session id, also new ones."""
    forms = {fitted.canonicalize(f"{HOST}/topic.php?t=107{sid}") for sid in ("", "&sid=00c0ffee00c0ffee")}

    assert (len(forms) == 1) is not expected_to_fail(name, "one form per page")


def test_two_pages_keep_two_forms(name, fitted):
    """Two topics keep two forms."""
    forms = {fitted.canonicalize(f"{HOST}/topic.php?t={topic}&sid=00c0ffee00c0ffee") for topic in (107, 108)}

    assert (len(forms) == 2) is not expected_to_fail(name, "two pages keep two")


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(url=urls)
def test_no_string_raises(fitted, url):
    """For any string: a form comes back, and an explanation."""
    form = fitted.canonicalize(url)

    assert isinstance(form, str)
    assert fitted.explain(url).reason


def test_unequal_lengths_name_both(name):
    """The error names both lengths."""
    with pytest.raises(BadInputError, match=r"180 .*179"):
        make(name).fit(CRAWL.urls[:180], CRAWL.clusters[:179])
    with pytest.raises(BadInputError, match=r"180 .*179"):
        make(name).fit(CRAWL.urls[:180], CRAWL.clusters[:180], [None] * 179)
    with pytest.raises(BadInputError, match="no URLs"):
        make(name).fit([], [])


def test_an_unknown_method_suggests_the_nearest():
    """The name that was probably meant is in the error."""
    with pytest.raises(BadInputError, match="Did you mean 'seq2seq'"):
        make_method("seq2sec")
