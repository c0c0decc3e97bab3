"""Reading the output of ``evaluate --json``: the same rows, and one clear error for anything else."""

import json

import pytest

from dedup_crawler.errors import BadInputError
from dedup_crawler.evaluation.comparison import (
    COLUMNS,
    MAX_METHODS,
    MAX_SITES,
    cells,
    evaluate,
    judged_crawl,
    read_comparison,
)
from dedup_crawler.methods import make_method
from dedup_crawler.pages.records import LabelledPage
from planted_site import session_ids

CRAWL = session_ids()
PAGES = [
    LabelledPage(url, None, 200, None, f"page {page}", f"text of page {page} " * 20, None, page)
    for url, page in zip(CRAWL.urls, CRAWL.clusters, strict=True)
]
TRUTH = dict(zip(CRAWL.urls, map(str, CRAWL.clusters), strict=True))


@pytest.fixture(scope="module")
def rows():
    crawl = judged_crawl("forum", PAGES, TRUTH, 0.75)
    return [evaluate(make_method(name), name, crawl) for name in ("keep-all", "strip-query", "verified")]


@pytest.fixture
def printed(rows):
    return {"forum": [json.loads(json.dumps(row.as_dict())) for row in rows]}


def written(tmp_path, value):
    (tmp_path / "comparison.json").write_text(value if isinstance(value, str) else json.dumps(value))
    return tmp_path / "comparison.json"


def test_what_was_printed_is_read(tmp_path, rows, printed):
    """Law: the rows come back unchanged, with a cell for every column."""
    read = read_comparison(written(tmp_path, printed))

    assert read == {"forum": rows}
    assert all(len(cells(row)) == len(COLUMNS) for row in read["forum"])


def test_rates_are_computed_not_believed(tmp_path, rows, printed):
    """A file with altered rates shows the rates of its counts."""
    printed["forum"][1]["warm"]["saved"] = 1.0
    printed["forum"][1]["cold"]["precision"] = 1.0

    assert cells(read_comparison(written(tmp_path, printed))["forum"][1]) == cells(rows[1])


@pytest.mark.parametrize(
    "value",
    [
        "",
        "{",
        "null",
        "[]",
        "{}",
        "7",
        '{"forum": 7}',
        '{"forum": [7]}',
        '{"forum": [{}]}',
        "[" * 100_000,
        "\ud800"[:0] + "x",
    ],
)
def test_other_files_are_one_clear_error(tmp_path, value):
    """The error names the file, and the command that makes one."""
    with pytest.raises(BadInputError, match=r"comparison\.json.* Make one with .*evaluate --json > FILE"):
        read_comparison(written(tmp_path, value))


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        ("cold", "n_urls", "many"),
        ("cold", "n_fetched", -1),
        ("cold", "n_covered", 10**9),
        ("cold", "n_needed", 10**9),
        ("warm", "n_fetched", 1.5),
        ("warm", "n_urls", True),
        ("warm", "n_urls", 10**15),
        ("normalization", "n_forms", 0),
        ("normalization", "n_urls", 0),
        ("normalization", "n_support_pairs", None),
        (None, "fit_s", float("nan")),
        (None, "fit_s", -1),
        (None, "canonicalize_us", "fast"),
        (None, "n_learnt", "many"),
    ],
)
def test_counts_that_cannot_be_are_refused(tmp_path, printed, place, name, value):
    """Bad values are refused at once, not in a later division or figure."""
    row = printed["forum"][0]
    (row if place is None else row[place])[name] = value

    with pytest.raises(BadInputError, match="evaluate --json > FILE"):
        read_comparison(written(tmp_path, printed))


def test_files_that_cannot_be_read_are_said(tmp_path):
    """The file is missing, a folder, or too large."""
    with pytest.raises(BadInputError, match=r"nowhere.*cannot be read"):
        read_comparison(tmp_path / "nowhere")
    with pytest.raises(BadInputError, match="cannot be read"):
        read_comparison(tmp_path)
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2**25)
    with pytest.raises(BadInputError, match="more than"):
        read_comparison(tmp_path / "large")


def test_very_many_rows_are_bounded(tmp_path, printed):
    """Of a file with a thousand sites and methods only a part is shown."""
    read = read_comparison(written(tmp_path, {f"site {n}": printed["forum"] * 50 for n in range(50)}))

    assert len(read) == MAX_SITES
    assert {len(rows) for rows in read.values()} == {MAX_METHODS}
