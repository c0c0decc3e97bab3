"""The file with a crawl's evidence for the rules of a model, and the estimate of lost pages from it."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.errors import EvidenceError
from dedup_crawler.methods.model.evidence_file import (
    EvidenceFile,
    RuleCounts,
    evidence_for,
    evidence_path,
    lost_pages,
    read_evidence,
    write_evidence,
)

SOME = EvidenceFile("0123abcd", {"a": RuleCounts(10, 1, False), "b": RuleCounts(2, 4, True)})


def written(**changes):
    rules = {"a": {"agreed": 10, "disagreed": 1, "switched_off": False}}
    value = {"application": "dedup-crawler evidence", "format": 1, "model": "0123abcd", "rules": rules, **changes}
    return json.dumps(value).encode()


def test_it_stands_beside_the_model(tmp_path, monkeypatch):
    """The model folder stays unchanged; the current folder has a name as well."""
    assert evidence_path(Path("/models/forum.example")) == Path("/models/forum.example.evidence.json")
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path / "model")
    assert evidence_path(Path()) == tmp_path / "model.evidence.json"


@given(
    rules=st.dictionaries(
        st.text(max_size=16),
        st.builds(RuleCounts, st.integers(0, 10**12), st.integers(0, 10**12), st.booleans()),
        max_size=5,
    )
)
def test_what_was_written_is_read(tmp_path_factory, rules):
    """Law: any counts come back unchanged; and nothing else is left in the folder."""
    path = tmp_path_factory.mktemp("models") / "m.evidence.json"
    write_evidence(path, EvidenceFile("d", rules))
    assert read_evidence(path) == EvidenceFile("d", rules)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_person_can_read_it(tmp_path):
    """Plain JSON with sorted rules, so that two files can be compared. The first crawl has no file."""
    path = tmp_path / "m.evidence.json"
    assert read_evidence(path) is None
    write_evidence(path, SOME)
    assert json.loads(path.read_text())["rules"]["b"] == {"agreed": 2, "disagreed": 4, "switched_off": True}


@pytest.mark.parametrize(
    "contents",
    [
        *(b"", b"{", b"\xff\xfe\x00", b"[1, 2]", b'{"a": 1}', b"[" * 200_000),
        written(application="other"),
        written(format=2),
        written(format=True),
        written(model=None),
        written(rules=[]),
        written(rules={"a": 3}),
        written(rules={"x" * 1000: {"agreed": 1, "disagreed": 1, "switched_off": False}}),
        *(
            written().replace(b": 10,", b": %s," % count)
            for count in (b"-1", b"NaN", b"Infinity", b"1e400", b"1.5", b"true", b'"7"', b"null", b"9" * 100_000)
        ),
        written(rules={"a": {"agreed": 1, "disagreed": 1, "switched_off": 0}}),
        written(rules={"a\n\x1b[31m": 0}),
    ],
)
def test_damaged_foreign_and_hostile_files_are_refused_in_one_line(tmp_path, contents):
    """The error has the file's name and the way out, without control characters, and the file stays unchanged."""
    path = tmp_path / "m.evidence.json"
    path.write_bytes(contents)
    with pytest.raises(EvidenceError) as caught:
        read_evidence(path)
    assert str(path) in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400 + len(str(path))
    assert path.read_bytes() == contents


def test_a_huge_file_is_not_read(tmp_path):
    """A file of 17 MB is refused after 16 MB."""
    path = tmp_path / "m.evidence.json"
    with path.open("wb") as file:
        file.truncate(17 * 2**20)
    with pytest.raises(EvidenceError, match="more than 16777216 bytes"):
        read_evidence(path)


def test_a_folder_in_its_place_is_refused(tmp_path):
    """Reading and writing report it in one line."""
    path = tmp_path / "m.evidence.json"
    path.mkdir()
    with pytest.raises(EvidenceError, match="cannot be read"):
        read_evidence(path)
    with pytest.raises(EvidenceError, match="cannot be written"):
        write_evidence(path, SOME)
    assert list(tmp_path.iterdir()) == [path]


def test_a_failing_write_leaves_the_old_file(tmp_path, monkeypatch):
    """A full disk loses only new counts, not old ones."""
    path = tmp_path / "m.evidence.json"
    write_evidence(path, SOME)

    def fails(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(EvidenceError, match="No space left on device"):
        write_evidence(path, EvidenceFile("other", {}))
    assert read_evidence(path) == SOME
    assert list(tmp_path.iterdir()) == [path]


def test_a_model_goes_on_where_the_crawl_ended():
    """Rules that failed stay off, unless new training found them again; unknown rules are ignored."""
    assert evidence_for(SOME, "0123abcd", {"a": "", "b": "", "c": ""}) == SOME.rules
    assert evidence_for(SOME, "0123abcd", {"a": ""}) == {"a": RuleCounts(10, 1, False)}
    assert evidence_for(None, "0123abcd", {"a": ""}) == {}
    assert evidence_for(SOME, "other", {"a": "", "b": ""}) == {"a": RuleCounts(10, 1, False)}


def test_nothing_explored_means_that_nothing_is_known():
    """There is no estimate, and the interval reaches from nothing to everything; without drops nothing is lost."""
    assert lost_pages(1000, 0, 0) == (None, 0.0, 1000.0)
    assert lost_pages(0, 3, 4) == (0.0, 0.0, 0.0)


def test_drops_that_nothing_speaks_about_may_all_be_lost():
    """They widen the interval, whatever the tests of other rules."""
    tested, both = lost_pages(1000, 100, 0), lost_pages(1000, 100, 0, 50)
    assert both == (tested.estimate, tested.low, tested.high + 50)


def test_all_agreed():
    """No disagreement in 100 leaves up to 3.6 % open (1 - 0.025 ** (1 / 100))."""
    estimate, low, high = lost_pages(1000, 100, 0)
    assert (estimate, low) == (0.0, 0.0)
    assert 36.1 < high < 36.3


def test_the_interval_holds_the_truth_as_often_as_it_says():
    """1,000 crawls that lose 3 % of their drops: in at least 95 % of them the truth lies within."""
    draw = random.Random(5)
    n_held = 0
    for _ in range(1000):
        n_wrong = sum(draw.random() < 0.03 for _ in range(200))
        _, low, high = lost_pages(10_000, 200 - n_wrong, n_wrong)
        n_held += low <= 300 <= high
    assert n_held >= 950
