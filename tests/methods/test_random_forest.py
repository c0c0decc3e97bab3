"""The forest of the capstone: the same answers as scikit-learn's, from plain JSON tables."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods import make_method
from dedup_crawler.methods.pairs.url_pairs import UrlPair

HOST = "http://forum.example"
PAIRS = [UrlPair(f"{HOST}/t/{i}", f"{HOST}/{'t' if i % 3 else 'u'}/{i * 7 % 50}", i % 3 == 0) for i in range(150)]
ASKED = [(pair.left, pair.right) for pair in PAIRS]


@pytest.fixture(scope="module")
def forest():
    return make_method("random-forest").fit_pairs(PAIRS)


def test_answers_are_those_of_scikit_learn(forest):
    """On the padded characters of both URLs side by side: the same probability for every pair."""
    rows = forest._rows(ASKED)
    labels = [pair.is_duplicate for pair in PAIRS]
    theirs = RandomForestClassifier(n_estimators=4, max_depth=4, random_state=0).fit(rows, labels).predict_proba(rows)

    assert forest._probabilities(ASKED) == pytest.approx(theirs[:, 1].tolist(), abs=1e-9)
    assert len(np.unique(theirs[:, 1])) > 2


def test_pairs_of_one_kind_teach_nothing():
    """The error says how many there were and what is expected."""
    with pytest.raises(BadInputError, match=r"all 50 pairs .* identical"):
        make_method("random-forest").fit_pairs([pair for pair in PAIRS if pair.is_duplicate])
    with pytest.raises(BadInputError, match="depth is 0"):
        make_method("random-forest", depth=0).fit_pairs(PAIRS)
