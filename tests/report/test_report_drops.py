"""The report after a live crawl: the file of drops, line by line, and the evidence beside the models."""

import gzip
import json

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods.model.evidence_file import EvidenceFile, RuleCounts, evidence_path, write_evidence
from dedup_crawler.report.drops import MAX_RULES, MAX_SHOWN, N_EXAMPLES, N_SUSPECTED, live_facts

HOST = "http://forum.example"
SENTENCES = {"aa": "drop `sid`", "bb": "drop `page`"}


def line(n, rule="aa", **more):
    entry = {"url": f"{HOST}/{n}?sid=1", "form": f"{HOST}/{n}", "rules": [rule], "owner": f"{HOST}/{n}"}
    return json.dumps({**entry, "referrer": None, "time": 1_000_000.5 + n, **more})


def write(path, lines):
    path.write_text("".join(f"{each}\n" for each in lines))
    return path


def read(path, folders=(), truth=None, sentences=SENTENCES):
    return live_facts(path, folders, sentences, truth or {}, lambda note, done, total: None)


def evidence(folder, **rules):
    folder.mkdir(exist_ok=True)
    write_evidence(
        evidence_path(folder), EvidenceFile("0123", {rule: RuleCounts(*counts) for rule, counts in rules.items()})
    )
    return folder


def test_drops_are_counted_by_their_first_rule(tmp_path):
    """Drops are counted as in the stats; a drop without a rule has its own line, an unknown rule its identifier."""
    path = write(
        tmp_path / "drops.jsonl",
        [
            *(line(n) for n in range(30)),
            line(30, "bb"),
            line(31, rules=["bb", "aa"]),
            line(32, "zz"),
            line(33, rules=[]),
        ],
    )
    found = read(path)

    assert found.drops.n_dropped == 34
    assert found.drops.times == (1_000_000.5, 1_000_033.5)
    assert [(rule.sentence, rule.n_dropped) for rule in found.rules] == [
        ("drop `sid`", 30),
        ("drop `page`", 2),
        ("(no rule: the form of a page that was fetched before)", 1),
        ("rule zz, of another model", 1),
    ]
    assert [drop.url for drop in found.rules[0].examples] == [f"{HOST}/{n}?sid=1" for n in range(N_EXAMPLES)]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_packed_file_is_read_too(tmp_path, pack):
    """The file may be large; gzip and zstd are recognized by their first bytes."""
    (tmp_path / "drops").write_bytes(pack(f"{line(1)}\n{line(2)}\n".encode()))

    assert read(tmp_path / "drops").drops.n_dropped == 2


HOSTILE = [
    "",
    "null",
    "7",
    "[]",
    "{}",
    '{"url": 7, "rules": []}',
    '{"url": "http://a/", "rules": "aa"}',
    "{" * 5000,
    '{"url": "' + "x" * 100_000 + '", "rules": []}',
    '{"url": "http://a/", "rules": [], "time": ' + "9" * 5000 + "}",
    "\x00\x01\x02",
    '{"url": "http://a/", "rules": [], ',
]


def test_lines_that_are_no_drops_are_skipped_and_counted(tmp_path):
    """A cut line, a line of a megabyte, or of another program loses only itself."""
    path = write(tmp_path / "drops.jsonl", [line(0), *HOSTILE, line(1)])
    found = read(path).drops

    assert found.n_dropped == 2
    assert found.n_damaged == len(HOSTILE) - 1  # an empty line is ignored


@given(st.lists(st.binary(max_size=60), max_size=20))
def test_any_bytes_can_be_read(tmp_path_factory, lines):
    """Law: any file is read, or gives one clear error."""
    path = tmp_path_factory.mktemp("drops") / "d"
    path.write_bytes(b"\n".join([*lines, line(1).encode()]))
    try:
        assert read(path).drops.n_dropped >= 0
    except BadInputError as error:
        assert "holds no drops" in str(error)  # noqa: PT017 - or it is read


@pytest.mark.parametrize("time", [float("inf"), float("nan"), -1, 1e300, "now", True, None, [1]])
def test_a_time_that_no_calendar_has_is_none(tmp_path, time):
    """A drop without a valid time counts; only its time is unknown."""
    found = read(write(tmp_path / "d", [line(0, time=time)])).drops

    assert (found.n_dropped, found.times) == (1, None)


def test_very_many_rules_are_bounded(tmp_path):
    """Of ten thousand made-up rules with names of a kilobyte a bounded number is counted, the rest in one line."""
    path = write(tmp_path / "d", [line(n, f"{n}" + "r" * 1000) for n in range(3 * MAX_RULES)])
    found = read(path)

    assert found.drops.n_dropped == 3 * MAX_RULES
    assert (len(found.rules), found.n_rules) == (MAX_SHOWN, MAX_RULES + 1)
    assert (found.rules[0].sentence, found.rules[0].n_dropped) == ("(other rules)", 2 * MAX_RULES)
    assert max(len(rule.sentence) for rule in found.rules) < 100


def test_what_is_no_file_of_drops_is_said(tmp_path):
    """A missing file, a folder, and a foreign file are one clear error each; an empty one has no drops."""
    with pytest.raises(BadInputError, match=r"there is no file .*nowhere"):
        read(tmp_path / "nowhere")
    with pytest.raises(BadInputError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(BadInputError, match=r"holds no drops.*DEDUP_DROPPED"):
        read(write(tmp_path / "other.csv", ["url,cluster", "a,1"]))
    assert read(write(tmp_path / "empty", [])).drops.n_dropped == 0


def test_explorations_say_how_many_were_lost(tmp_path):
    """Three of sixty explorations were wrong: so are a twentieth of the drops, and their rule comes first."""
    path = write(tmp_path / "d", [*(line(n) for n in range(90)), *(line(n, "bb") for n in range(10))])
    folder = evidence(tmp_path / "model", aa=(50, 0, False), bb=(7, 3, False))
    found = read(path, [folder])

    assert (found.n_agreed, found.n_disagreed, found.n_explored) == (57, 3, 60)
    assert found.lost.estimate == pytest.approx(5)
    assert found.lost.low < 5 < found.lost.high
    assert [(rule.sentence, rule.is_suspected) for rule in found.rules] == [
        ("drop `page`", True),
        ("drop `sid`", False),
    ]
    assert found.rules[0].lost.estimate == pytest.approx(3)
    assert found.rules[1].lost.estimate == 0


def test_of_a_suspected_rule_more_is_shown(tmp_path):
    """The drops of a switched-off rule come first, because users want to look at them."""
    path = write(tmp_path / "d", [line(n) for n in range(90)])

    assert len(read(path).rules[0].examples) == N_EXAMPLES
    found = read(path, [evidence(tmp_path / "model", aa=(5, 4, True))])
    assert found.rules[0].counts.is_switched_off
    assert len(found.rules[0].examples) == N_SUSPECTED


def test_evidence_alone_is_shown_too(tmp_path):
    """Without a file of drops nothing is estimated, but the explorations are shown; a model may have none yet."""
    found = read(None, [evidence(tmp_path / "model", aa=(5, 1, False)), tmp_path / "new"])

    assert (found.drops, found.lost, found.trouble) == (None, None, [])
    assert [(rule.sentence, rule.counts) for rule in found.rules] == [("drop `sid`", RuleCounts(5, 1, False))]


def test_damaged_evidence_is_said_and_the_rest_is_told(tmp_path):
    """Evidence is optional: one line says why it is not read."""
    folder = evidence(tmp_path / "model", aa=(5, 1, False))
    evidence_path(folder).write_text("{")
    good = evidence(tmp_path / "good", bb=(3, 0, False))
    found = read(None, [folder, good])

    assert len(found.trouble) == 1
    assert "model.evidence.json cannot be read as JSON" in found.trouble[0]
    assert found.n_agreed == 3


def test_a_truth_judges_the_drops(tmp_path):
    """If the truth knows both URLs: wrong drops are counted and listed."""
    path = write(tmp_path / "d", [line(0), line(1), line(2), line(3, owner=None)])
    truth = {f"{HOST}/0?sid=1": "a", f"{HOST}/0": "a", f"{HOST}/1?sid=1": "b", f"{HOST}/1": "c", f"{HOST}/2": "d"}
    found = read(path, truth=truth).drops

    assert (found.n_judged, found.n_wrong) == (2, 1)
    assert [drop.url for drop in found.wrong] == [f"{HOST}/1?sid=1"]
