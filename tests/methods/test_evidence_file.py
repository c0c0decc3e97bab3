"""The file with a crawl's evidence for the rules of a model."""

from __future__ import annotations

import json
import os
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
    read_evidence,
    write_evidence,
)

SOME = EvidenceFile("0123abcd", {"a": RuleCounts(10, 1, False), "b": RuleCounts(2, 4, True)})


def written(**changes):
    rules = {"a": {"agreed": 10, "disagreed": 1, "switched_off": False}}
    return {"application": "dedup-crawler evidence", "format": 1, "model": "0123abcd", "rules": rules, **changes}


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


def test_no_file_is_no_evidence(tmp_path):
    """The first crawl has no file; that is no error."""
    assert read_evidence(tmp_path / "m.evidence.json") is None


def test_a_person_can_read_it(tmp_path):
    """Plain JSON with sorted rules, so that two files can be compared."""
    path = tmp_path / "m.evidence.json"
    write_evidence(path, SOME)
    assert json.loads(path.read_text())["rules"]["b"] == {"agreed": 2, "disagreed": 4, "switched_off": True}


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[1, 2]",
        b'{"a": 1}',
        b"[" * 200_000,
        b'{"a":' * 100_000,
        json.dumps(written(application="other")).encode(),
        json.dumps(written(format=2)).encode(),
        json.dumps(written(format=True)).encode(),
        json.dumps(written(model=None)).encode(),
        json.dumps(written(rules=[])).encode(),
        json.dumps(written(rules={"a": 3})).encode(),
        json.dumps(written(rules={"x" * 1000: {"agreed": 1, "disagreed": 1, "switched_off": False}})).encode(),
        *(
            b'{"application": "dedup-crawler evidence", "format": 1, "model": "d", "rules": '
            b'{"a": {"agreed": %s, "disagreed": 0, "switched_off": false}}}' % count
            for count in (b"-1", b"NaN", b"Infinity", b"1e400", b"1.5", b"true", b'"7"', b"null", b"9" * 100_000)
        ),
        json.dumps(written(rules={"a": {"agreed": 1, "disagreed": 1, "switched_off": 0}})).encode(),
        json.dumps(written(rules={"a\n\x1b[31m": 0})).encode(),
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


def test_the_same_model_goes_on_where_the_crawl_ended():
    """Rules that failed stay off; unknown rules are ignored."""
    assert evidence_for(SOME, "0123abcd", {"a": "", "b": "", "c": ""}) == SOME.rules
    assert evidence_for(SOME, "0123abcd", {"a": ""}) == {"a": RuleCounts(10, 1, False)}
    assert evidence_for(None, "0123abcd", {"a": ""}) == {}


def test_another_model_keeps_the_counts_of_rules_that_are_there_again():
    """A rule that had failed is used again if new training found it."""
    assert evidence_for(SOME, "other", {"a": "", "b": ""}) == {"a": RuleCounts(10, 1, False)}
