"""The translator as a method: the effect of each of its parts."""

import pytest

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods import load_model, make_method
from planted_site import HOST, session_ids, slugs

QUICK = {"hidden": 32}


def fit(crawl, **options):
    return make_method("seq2seq", **{**QUICK, **options}).fit(crawl.urls, crawl.clusters)


@pytest.fixture(scope="module")
def questions():
    return fit(slugs())


def test_slugs_of_any_length_are_dropped(questions):
    """Learnt from two to six words, true for one and for twelve."""
    plain = questions.canonicalize(f"{HOST}/questions/777")

    assert plain == f"{HOST}/questions/777"
    for slug in ("oneword", "a-b-c-d-e-f-g-h-i-j-k-l"):
        assert questions.canonicalize(f"{HOST}/questions/777/{slug}") == plain


def test_a_new_function_token_in_the_place_of_a_slug_is_not_a_slug(questions):
    """``history`` after three questions: from the third on each keeps its own form, because of the guard."""
    forms = [questions.canonicalize(f"{HOST}/questions/{number}/history") for number in range(900, 910)]

    assert forms[2:] == [f"{HOST}/questions/{number}/history" for number in range(902, 910)]
    assert "several pages share this value" in questions.explain(f"{HOST}/questions/905/history").reason


def test_a_template_never_met_is_left_alone(questions):
    """Unknown templates keep their own form, though they contain known tokens."""
    for path in ("/questions/777/slug/answers", "/questions", "/tagged/x/questions/777"):
        assert questions.canonicalize(HOST + path) == HOST + path
    assert "was not in the training data" in questions.explain(f"{HOST}/questions/7/slug/8/9").reason


def test_too_few_merge_groups_are_no_evidence():
    """Less than half of 25 questions are judged: nothing is translated, and explain gives the reason."""
    model = fit(slugs(n_pages=25))

    assert model.quality_["translated_templates"] == 0
    assert "evidence is too weak" in model.explain(f"{HOST}/questions/110/some-slug").reason


def test_without_safeguards_the_network_is_believed():
    """With the gate off 25 questions are enough; without the guard their histories are lost."""
    model = fit(slugs(n_pages=25), judged_gate=False, value_guard=False)

    forms = [model.canonicalize(f"{HOST}/questions/110/{name}") for name in ("some-slug", "history")]
    assert forms == [f"{HOST}/questions/110"] * 2


def test_shuffled_clusters_teach_nothing():
    """Random labels give no translations."""
    crawl = slugs()
    shuffled = crawl.clusters[7:] + crawl.clusters[:7]
    model = make_method("seq2seq", **QUICK).fit(crawl.urls, shuffled)

    assert model.canonicalize_many(crawl.urls) == crawl.urls


def test_a_site_without_duplicates_teaches_nothing(tmp_path):
    """No network is trained, no URL is changed, and the model can still be saved and loaded."""
    crawl = slugs()
    model = make_method("seq2seq").fit(crawl.urls, range(len(crawl.urls)))

    assert model.canonicalize_many(crawl.urls) == crawl.urls
    assert model.quality_["epochs"] == 0
    assert load_model(model.save(tmp_path / "model")).canonicalize_many(crawl.urls) == crawl.urls


def test_the_paper_preset_believes_its_network(tmp_path):
    """The recipe of the paper translates every known template, without evidence; so does a loaded model."""
    crawl = session_ids()
    model = fit(crawl, preset="paper", optimizer="adam", learning_rate=5e-3)
    loaded = load_model(model.save(tmp_path / "model"))

    assert model.canonicalize(f"{HOST}/topic.php?t=7&sid=0011223344556677") == f"{HOST}/topic.php?t=7"
    assert loaded.canonicalize_many(crawl.urls) == model.canonicalize_many(crawl.urls)
    assert not (tmp_path / "model" / "weights.safetensors").exists()


def test_explains_with_evidence(questions):
    """The reason names both templates and the merge groups for and against."""
    explained = questions.explain(f"{HOST}/questions/777/a-new-slug")

    assert explained.form == f"{HOST}/questions/777"
    assert explained.evidence["groups"] >= 20
    assert explained.evidence["wrong"] == 0
    assert "merge groups, 0 wrong" in explained.reason


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"preset": "nonsense"}, "nonsense.*fast, paper"),
        ({"min_document_frequency": 0.0}, r"min_document_frequency is 0\.0"),
        ({"min_document_frequency": 2.0}, r"min_document_frequency is 2\.0"),
        ({"optimizer": "magic"}, "magic.*adam, sgd"),
        ({"hidden": 0}, "hidden is 0"),
        ({"batch_size": -1}, "batch_size is -1"),
    ],
)
def test_an_option_out_of_range_is_named(options, named):
    """The error names the option and its value, before any training."""
    with pytest.raises(BadInputError, match=named):
        make_method("seq2seq", **options).fit([f"{HOST}/"], [0])
