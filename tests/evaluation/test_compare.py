"""``train --pairs`` and ``compare``: pairs in, probabilities out."""

import json

import pytest

from command_line import run, told

HOST = "http://forum.example"
LINES = [(f"{HOST}/t/{i}", f"{HOST}/{'t' if i % 3 else 'u'}/{i * 7 % 50}", int(i % 3 == 0)) for i in range(150)]


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with pairs and a forest trained on them."""
    folder = tmp_path_factory.mktemp("pairs")
    scored = "".join(f"{left},{right},{score}\n" for left, right, score in LINES)
    (folder / "pairs.csv").write_text(f"url1,url2,score\n{scored}")
    (folder / "plain.csv").write_text("url1,url2\n" + "".join(f"{left},{right}\n" for left, right, _ in LINES))
    trained = run("train", "random-forest", "--pairs", folder / "pairs.csv", "--model", folder / "model")
    assert trained.exit_code == 0, trained.output
    assert "learnt from" in trained.stdout
    return folder


def test_prints_a_probability_per_pair_and_what_they_are_worth(work):
    """Three columns on stdout, in order; on stderr the rates and the confusion matrix with both axes named."""
    result = run("compare", "--model", work / "model", "--pairs", work / "pairs.csv")
    rows = [line.split("\t") for line in result.stdout.splitlines()]

    assert [row[:2] for row in rows] == [[left, right] for left, right, _ in LINES]
    assert all(0 <= float(row[2]) <= 1 for row in rows)
    said = result.stderr
    assert all(f"{name}: 0." in said or f"{name}: 1." in said for name in ("accuracy", "precision", "recall", "auc"))
    assert said.index("answer different") < said.index("answer same") < said.index("truth different")


def test_json_has_all_of_it(work):
    """The same numbers for a program to read. Without scores there are only probabilities, and nothing on stderr."""
    command = ("compare", "--model", work / "model", "--pairs")
    found = json.loads(run(*command, work / "pairs.csv", "--json").stdout)
    confusion = found["quality"]["confusion"]

    assert len(found["pairs"]) == found["quality"]["pairs"] == len(LINES)
    assert sum(confusion["truth same"].values()) == sum(score for _, _, score in LINES)
    plain = run(*command, work / "plain.csv")
    assert (len(plain.stdout.splitlines()), plain.stderr) == (len(LINES), "")
    assert "quality" not in json.loads(run(*command, work / "plain.csv", "--json").stdout)


def test_mistakes_are_one_line_each(work, tmp_path):
    """A missing column, pairs of one kind only, a model without probabilities."""
    broken, alike = tmp_path / "broken.csv", tmp_path / "alike.csv"
    broken.write_text("url1,score\na,1\n")
    alike.write_text("url1,url2,score\na,b,1\n")
    from dedup_crawler.methods import make_method

    rules = make_method("keep-all").fit([f"{HOST}/"], [0]).save(tmp_path / "rules")

    assert "line 1: no column url2" in told(run("compare", "--model", work / "model", "--pairs", broken))
    train = ("train", "random-forest", "--model", tmp_path / "m", "--pairs")
    assert "line 1: no column url2" in told(run(*train, broken))
    assert "all 1 pairs" in told(run(*train, alike))
    assert "holds a keep-all model" in told(run("compare", "--model", rules, "--pairs", work / "pairs.csv"))
    assert "no model at" in told(run("compare", "--model", tmp_path / "none", "--pairs", work / "pairs.csv"))
