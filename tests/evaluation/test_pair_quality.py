"""Rates of a pair classifier, compared with scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from dedup_crawler.evaluation.quality import area_under_curve, pair_quality

ANSWERS = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]), st.booleans()), min_size=1, max_size=60)


def test_the_confusion_matrix_of_the_capstone():
    """[[2520, 4], [753, 134]]: precision .971 and recall .151, which its report gives the other way round."""
    labels = [False] * 2524 + [True] * 887
    answers = [0.0] * 2520 + [1.0] * 4 + [0.0] * 753 + [1.0] * 134
    quality = pair_quality(answers, labels, 0.5)

    assert quality["precision"] == pytest.approx(0.971, abs=5e-4)
    assert quality["recall"] == pytest.approx(0.151, abs=5e-4)
    assert quality["accuracy"] == pytest.approx(0.778, abs=5e-4)
    assert quality["confusion"]["truth same"] == {"answer different": 753, "answer same": 134}


@given(ANSWERS, st.sampled_from([0.1, 0.5, 0.6]))
def test_rates_are_those_of_scikit_learn(answers, threshold):
    """Accuracy, precision, recall, F1 and the area under the curve, ties included."""
    probabilities, labels = (np.array(column) for column in zip(*answers, strict=True))
    called = probabilities >= threshold
    quality = pair_quality(probabilities, labels, threshold)

    assert quality["accuracy"] == pytest.approx(metrics.accuracy_score(labels, called))
    assert quality["f1"] == pytest.approx(metrics.f1_score(labels, called, zero_division=0.0))
    if called.any():
        assert quality["precision"] == pytest.approx(metrics.precision_score(labels, called))
    if labels.any():
        assert quality["recall"] == pytest.approx(metrics.recall_score(labels, called))
    if labels.any() and not labels.all():
        assert area_under_curve(probabilities, labels) == pytest.approx(metrics.roc_auc_score(labels, probabilities))


def test_what_is_undefined_is_none():
    """Without positive answers precision is undefined, without duplicates recall, with one kind of pairs the curve."""
    quality = pair_quality([0.1, 0.2], [False, False], 0.5)

    assert (quality["precision"], quality["recall"], quality["auc"], quality["f1"]) == (None, None, None, 0.0)
