"""Curves and held-out pairs of a model's training: small, and the same after loading."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.errors import BadInputError
from dedup_crawler.json_values import JsonValue
from dedup_crawler.methods import load_model, make_method
from dedup_crawler.methods.model.explanations import (
    FILE,
    MAX_POINTS,
    TrainingHistory,
    curve,
    held_out,
    history_from_json,
    history_to_json,
)
from dedup_crawler.methods.model.folder import ModelFiles, read_model
from dedup_crawler.methods.pairs.url_pairs import UrlPair, cut_by_url
from dedup_crawler.methods.wrapped import StaticFront
from dedup_crawler.rules.exchange.static_rules import StaticLayer
from planted_site import HOST, session_ids

PAIRS = [
    UrlPair(
        f"{HOST}/topic.php?t={i}", f"{HOST}/topic.php?t={i if i % 2 else 100 + i * 37 % 300}&sid={i:016x}", i % 2 == 1
    )
    for i in range(100, 300)
]
SITE = session_ids()


@given(st.integers(0, 3000))
def test_a_curve_is_thinned_to_its_bound_and_keeps_its_ends(n):
    """For any number of epochs: at most 200 points, in order, with the first and the last."""
    points = [(epoch, 1 / epoch) for epoch in range(1, n + 1)]

    kept = curve("a", "loss", points).points

    assert len(kept) == min(n, len(kept)) <= MAX_POINTS
    assert list(kept) == sorted(set(kept))
    assert [epoch for epoch, _ in (*kept[:1], *kept[-1:])] == [epoch for epoch, _ in (*points[:1], *points[-1:])]


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1), st.floats(0, 1))
def test_every_answer_is_counted_once(answers, threshold):
    """Law: confusion matrix and bins count all pairs, and agree on the number of duplicates."""
    judged = held_out([p for p, _ in answers], [same for _, same in answers], threshold)

    n_same = sum(same for _, same in answers)
    assert judged.n_pairs == sum(each.n_pairs for each in judged.bins) == len(answers)
    assert judged.same_said_same + judged.same_said_different == sum(each.n_same for each in judged.bins) == n_same
    assert judged.same_said_same + judged.different_said_same == sum(p >= threshold for p, _ in answers)
    written = json.loads(json.dumps(history_to_json(TrainingHistory((), judged))))
    assert history_from_json(JsonValue(written, FILE)).held_out == judged


def test_pairs_are_cut_by_url():
    """Training pairs have no new URL of held-out pairs, and each held-out pair has a new one."""
    seen, new = cut_by_url(PAIRS, seed=0)

    known = {url for pair in seen for url in (pair.left, pair.right)}
    assert len(seen) + len(new) == len(PAIRS)
    assert 0.2 < len(new) / len(PAIRS) < 0.6
    assert all(pair.left not in known or pair.right not in known for pair in new)


@pytest.fixture(scope="module", params=["siamese", "random-forest"])
def classifier(request):
    options = {"hidden": 8, "epochs": 5, "members": 2} if request.param == "siamese" else {}
    return make_method(request.param, **options).fit_pairs(PAIRS)


def test_a_classifier_keeps_what_it_said_of_pairs_it_had_not_seen(classifier, tmp_path):
    """Confusion matrix and bins of the held-out pairs, at the model's threshold; loaded they are the same."""
    judged = classifier.history_.held_out

    assert judged.threshold == classifier.threshold_
    assert judged.n_pairs == len(cut_by_url(PAIRS, seed=0)[1])
    loaded = load_model(classifier.save(tmp_path / "model"))
    assert loaded.history_ == classifier.history_
    assert StaticFront(loaded, StaticLayer([])).history_ == classifier.history_
    assert (tmp_path / "model" / FILE).stat().st_size < 20_000


@pytest.mark.parametrize("classifier", ["siamese"], indirect=True)
def test_a_siamese_network_keeps_the_curves_of_all_its_networks(classifier):
    """Loss and accuracy by epoch, of the first network and of each member; the loss falls."""
    curves = classifier.history_.curves

    names = [(each.network, each.value) for each in curves]
    assert names == [
        (network, value)
        for network in ("first network", "network 1", "network 2")
        for value in ("loss", "share answered right")
    ]
    assert all([epoch for epoch, _ in each.points] == [1, 2, 3, 4, 5] for each in curves)
    assert all(each.points[-1][1] < each.points[0][1] for each in curves if each.value == "loss")
    assert all(0 <= share <= 1 for each in curves if each.value != "loss" for _, share in each.points)


def test_the_translator_keeps_its_curves(tmp_path):
    """The loss by epoch and the share of exact translations, which ends at the model's quality."""
    model = make_method("seq2seq", hidden=16, max_steps=100).fit(SITE.urls, SITE.clusters)
    losses, exacts = model.history_.curves

    assert losses.points[0][1] > losses.points[-1][1]
    assert max(share for _, share in exacts.points) == pytest.approx(model.quality_["exact_training_pairs"])
    assert load_model(model.save(tmp_path / "model")).history_ == model.history_


def test_nothing_to_learn_from_is_no_history(tmp_path):
    """A second fit, on a crawl without duplicates, forgets the curves; a folder of an earlier version has no file."""
    model = make_method("random-forest").fit_pairs(PAIRS)
    assert model.history_ != TrainingHistory()
    description, files = read_model(model.save(tmp_path / "model"))
    old = ModelFiles({name: table for name, table in files.tables.items() if name != FILE})
    assert type(model).from_files(description, old).history_ == TrainingHistory()

    model.fit([f"{HOST}/{i}" for i in range(30)], list(range(30)))

    assert model.history_ == TrainingHistory()


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"curves": None},
        *(
            {"curves": [{"network": "a", "value": "loss", "points": [point]}]}
            for point in ([1], [1, "much"], [-1, 0.5])
        ),
        {"curves": [{"network": "a", "value": "loss", "points": [[1, float("nan")]]}]},
        {"curves": [], "held_out": {"threshold": float("inf")}},
    ],
)
def test_a_damaged_history_is_one_clear_error(value):
    """It names the file."""
    with pytest.raises(BadInputError, match=r"training\.json"):
        history_from_json(JsonValue(value, FILE))


def test_a_hostile_history_is_bounded():
    """Of a million points or curves in a hostile file only some are kept, and names are cut."""
    long = {"network": "n" * 10**6, "value": "v", "points": [[i, 0.5] for i in range(10_000)]}

    read = history_from_json(JsonValue({"curves": [long] * 1_000}, FILE))

    assert len(read.curves) == 20
    assert all(len(each.points) == MAX_POINTS and len(each.network) == 100 for each in read.curves)
