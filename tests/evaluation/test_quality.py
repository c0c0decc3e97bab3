"""Judging clusters by a truth, and the answers of a pair classifier: its rates are compared with scikit-learn's."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from dedup_crawler.errors import BadInputError
from dedup_crawler.evaluation.quality import area_under_curve, label_quality, pair_quality, read_truth


def test_reads_plain_and_compressed(tmp_path: Path) -> None:
    """A .csv and a .csv.gz with other columns, in any order, with quotes and a byte order mark, read the same."""
    text = '\ufeffn,cluster,url\r\n0,a,http://x/\r\n1,a,"http://x/?q=1,2"\r\n2,b,http://x/é\r\n'
    (tmp_path / "t.csv").write_bytes(text.encode())
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))

    expected = {"http://x/": "a", "http://x/?q=1,2": "a", "http://x/é": "b"}
    assert read_truth(tmp_path / "t.csv") == expected
    assert read_truth(str(tmp_path / "t.csv.gz")) == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.csv", None, r"missing\.csv: the truth cannot be read \(No such file"),
        ("empty.csv", b"", r"no column 'url'; it has: nothing"),
        ("other.csv", b"address,cluster\n", r"no column 'url'; it has: address, cluster"),
        ("half.csv", b"url,group\nx,1\n", r"no column 'cluster'; it has: url, group"),
        ("short.csv", b"url,cluster\nhttp://x/,a\nhttp://y/\n", r"line 3: url or cluster is missing"),
        ("twice.csv", b"url,cluster\nhttp://x/,a\nhttp://x/,b\n", r"line 3: http://x/ is in the clusters a and b"),
        ("latin.csv", b"url,cluster\nhttp://x/\xe9,a\n", r"not a CSV file in UTF-8"),
        ("plain.csv.gz", b"url,cluster\n", r"cannot be read \(Not a gzipped file"),
        ("cut.csv.gz", gzip.compress(b"url,cluster\n" * 99, mtime=0)[:-9], r"cannot be read \(Compressed file ended"),
    ],
)
def test_says_what_is_wrong_with_the_file(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    """Each problem of a truth is one line with the file and the cause, never another exception."""
    if content is not None:
        (tmp_path / name).write_bytes(content)

    with pytest.raises(BadInputError, match=message):
        read_truth(tmp_path / name)


def test_worked_example() -> None:
    """Six URLs, two true pages of four and two, clustered as three and three: the figures worked out by hand."""
    truth = dict(zip("abcdef", "xxxxyy", strict=True))
    quality = label_quality(dict(zip("abcdef", [1, 1, 1, 2, 2, 2], strict=True)), truth)

    assert quality.n_urls == 6
    assert quality.bcubed_precision == pytest.approx((3 * 1 + 1 / 3 + 2 * 2 / 3) / 6)
    assert quality.bcubed_recall == pytest.approx((3 * 3 / 4 + 1 / 4 + 2 * 1) / 6)
    assert quality.pair_precision == pytest.approx(4 / 6)
    assert quality.pair_recall == pytest.approx(4 / 7)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20))
def test_the_truth_itself_is_perfect(names: list[int]) -> None:
    """The true clusters score 1 everywhere; all URLs apart have precision 1, all together recall 1."""
    truth = {f"u{n}": str(name) for n, name in enumerate(names)}
    right = label_quality({f"u{n}": name for n, name in enumerate(names)}, truth)
    apart = label_quality({f"u{n}": n for n in range(len(names))}, truth)
    together = label_quality(dict.fromkeys(truth, 0), truth)

    assert (right.bcubed_precision, right.bcubed_recall, right.pair_precision, right.pair_recall) == (1, 1, 1, 1)
    assert (apart.bcubed_precision, apart.pair_precision) == (1, 1)
    assert (together.bcubed_recall, together.pair_recall) == (1, 1)


def test_only_common_urls_count() -> None:
    """URLs on one side only change nothing; none in common is an error with both numbers."""
    assert label_quality({"a": 1, "b": 1, "z": 1}, {"a": "x", "b": "x", "q": "x"}).n_urls == 2
    with pytest.raises(BadInputError, match="none of the 1 labelled URLs is among the 2 URLs"):
        label_quality({"a": 1}, {"b": "x", "c": "x"})


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
