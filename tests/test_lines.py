"""What is told of lines, in bounded memory."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.labels import lines as module
from dedup_crawler.labels.comparing import n_words
from dedup_crawler.labels.lines import LineTable, digest, facts_of, lines_of
from label_pages import page


def test_facts_of_lines() -> None:
    """Digest, words, numbers between spaces, and a clock where there is a time."""
    facts = LineTable().facts(["a b", "page 7 of 12", "at 10:07"])

    assert facts.digests.tolist() == [digest("a b"), digest("page 7 of 12"), digest("at 10:07")]
    assert facts.n_words.tolist() == [2, 4, 3]
    assert facts.numbers == ["", " 7 12 ", " 10 07 "]
    assert [clock != 0 for clock in facts.clocks] == [False, False, True]


@pytest.mark.parametrize("bound", ["MEMO_LINES", "MEMO_CHARACTERS", ""])
def test_forgetting_changes_no_fact_and_no_count(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few lines are remembered, facts are the same, and a line is counted once for each page that has it."""
    pages = [["head", f"text {n // 2}", f"entry {n % 3}", "head"] for n in range(60)]
    expected = [LineTable().facts(each) for each in pages]
    if bound:
        monkeypatch.setattr(module, bound, 40)
    table = LineTable()

    for each, facts in zip(pages, expected, strict=True):
        told = table.facts(each)
        assert [list(column) for column in told] == [list(column) for column in facts]
    counts = {line: table.common_lines(n * 20) for n, line in [(60, "head"), (20, "entry 0")]}
    assert counts["head"].tolist() == [digest("head")]
    assert counts["entry 0"].tolist() == sorted(digest(line) for line in ("head", "entry 0", "entry 1", "entry 2"))


def test_lines_longer_than_all_that_is_remembered() -> None:
    """A page of ever new huge lines does not keep them; a page with very many lines is told line by line."""
    table = LineTable()
    for n in range(30):
        table.facts([f"{n}" + "x" * 1_000_000])
    long = table.facts([f"line {n % 30_000}" for n in range(60_000)])

    assert table.n_remembered < 25
    assert long.n_words.tolist() == [2] * 60_000
    assert table.common_lines(21).size == 0


def test_times_from_now_stay_in_their_line() -> None:
    """A line that ends in a number of minutes and one that starts with "ago" are two lines."""
    assert lines_of(page("a", "since 5 minutes\nago is a word\n5 minutes ago")) == [
        "since 5 minutes",
        "ago is a word",
        "\2",
    ]


@given(st.lists(st.text(st.characters(exclude_characters="\n")), min_size=1, max_size=8))
def test_lines_are_told_at_once_as_one_by_one(lines):
    """Lines read together have the facts that each has alone, in whatever script."""
    together = facts_of(lines)

    assert [list(each) for each in zip(*together, strict=True)] == [
        [column[0] for column in facts_of([line])] for line in lines
    ]
    assert together[1] == list(map(n_words, lines))
    assert [numbers.split() for numbers in together[3]] == [re.findall(r"\d+", line) for line in lines]
