"""The forest of the capstone: the same answers as scikit-learn's, from plain JSON tables."""

import json

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from dedup_crawler.errors import BadInputError, DamagedModelError
from dedup_crawler.methods import load_model, make_method
from dedup_crawler.methods.model.folder import ModelFiles, read_model
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


def test_a_saved_forest_gives_the_same_answers(forest, tmp_path):
    """The tables are JSON; nothing is pickled."""
    folder = forest.save(tmp_path / "model")

    assert {path.suffix for path in folder.iterdir()} == {".json"}
    assert load_model(folder).duplicate_probabilities(ASKED) == forest.duplicate_probabilities(ASKED)


@pytest.mark.parametrize(("column", "value"), [("below", 0), ("feature", 10**6), ("above", 10**6)])
def test_a_tree_that_never_ends_is_refused(forest, tmp_path, column, value):
    """A node that points to itself or to a missing node is one clear error, not an endless loop."""
    description, files = read_model(forest.save(tmp_path / "model"), "random-forest")
    tables = json.loads(json.dumps(files.tables))
    tables["trees.json"]["trees"][0][column][0] = value

    with pytest.raises(DamagedModelError, match=r"trees\.json"):
        type(forest).from_files(description, ModelFiles(tables))


def test_pairs_of_one_kind_teach_nothing():
    """The error says how many there were and what is expected."""
    with pytest.raises(BadInputError, match=r"all 50 pairs .* identical"):
        make_method("random-forest").fit_pairs([pair for pair in PAIRS if pair.is_duplicate])
    with pytest.raises(BadInputError, match="depth is 0"):
        make_method("random-forest", depth=0).fit_pairs(PAIRS)
