"""Comparison of methods under one protocol: training, judging, printing; and reading what was printed."""

import io
import json

import pytest
from rich.console import Console

from dedup_crawler.errors import BadInputError
from dedup_crawler.evaluation.comparison import (
    COLUMNS,
    MAX_METHODS,
    MAX_SITES,
    cells,
    evaluate,
    judged_crawl,
    mean_table,
    read_comparison,
    site_table,
    worst_table,
)
from dedup_crawler.methods import make_method
from dedup_crawler.pages.records import LabelledPage

HOST = "http://forum.example"


def page(path, text="", redirect_to=None):
    status = 302 if redirect_to else 200
    target = HOST + redirect_to if redirect_to else None
    return LabelledPage(HOST + path, None, status, target, path, text, None, None)


def text(name):
    return "\n".join(f"{name} line {i} says something of its own about {name}{i}" for i in range(30))


def evaluated(pages, *names):
    crawl = judged_crawl("forum", pages, None, 0.5)
    return [evaluate(make_method(name), name, crawl) for name in names]


def shown(table):
    out = io.StringIO()
    Console(file=out, width=200).print(table)
    return out.getvalue()


def test_training_does_not_see_what_later_pages_show():
    """Two pages joined only by a later redirect are two pages in training, and one for our labels as judge."""
    pages = [
        page("/old", redirect_to="/moved"),
        page("/new", text("new")),
        page("/other", text("other")),
        page("/moved", redirect_to="/new"),
    ]

    crawl = judged_crawl("forum", pages, None, 0.75)

    assert len(set(crawl.training.clusters)) == 3
    assert crawl.training_pages[0] == crawl.training_pages[1]
    assert crawl.judge == "own labels"


def test_a_truth_judges_and_pages_it_does_not_know_are_counted():
    """URLs outside the truth are left out on both sides."""
    pages = [page(f"/{i}", text(f"page{i}")) for i in range(8)]
    truth = {f"{HOST}/{i}": f"cluster{i % 3}" for i in range(6)}

    crawl = judged_crawl("forum", pages, truth, 0.5)

    assert (len(crawl.training.urls), len(crawl.test_urls)) == (3, 3)
    assert crawl.test_pages == ["cluster0", "cluster1", "cluster2"]


@pytest.mark.parametrize(
    ("n_pages", "truth", "fraction", "told"),
    [
        (4, None, 0.0, "train fraction is 0.0"),
        (4, None, 1.5, "train fraction is 1.5"),
        (4, {"http://other.example/": "x"}, 0.75, "knows none of the 4 URLs"),
        (1, None, 0.75, "too few"),
    ],
)
def test_what_cannot_be_judged_is_one_clear_line(n_pages, truth, fraction, told):
    """The error names the value."""
    with pytest.raises(BadInputError, match=told):
        judged_crawl("forum", [page(f"/{i}", text(f"page{i}")) for i in range(n_pages)], truth, fraction)


def test_tables_show_every_method_and_the_mean_over_sites():
    """strip-query loses the page behind a query, keep-all loses nothing; the mean is taken column by column."""
    pages = [page(f"/x?page={i}", text(f"page{i}")) for i in range(8)]
    rows = {}
    for site in ("forum", "shop"):
        crawl = judged_crawl(site, pages, None, 0.5)
        rows[site] = [evaluate(make_method(name), name, crawl) for name in ("keep-all", "strip-query")]
        table = shown(site_table(crawl, rows[site]))

    assert [row.warm.n_lost for row in rows["forum"]] == [0, 4]
    assert "shop: 4 pages to learn from, 4 judged by own labels; warm: 4 pages needed, 0 fetches avoidable" in table
    assert "| keep-all" in table
    assert "| strip-query" in shown(mean_table(rows))
    assert "worst of 2 sites" in shown(worst_table(rows))
    assert rows["forum"][1].as_dict()["normalization"]["dup_reduction"] is None


def test_the_worst_is_taken_column_by_column():
    """The smaller recall and the larger number of lost pages of two sites; a method without a model has no size."""
    rows = {}
    for site, n_pages in (("small", 4), ("large", 12)):
        pages = [page(f"/x?page={i}", text(f"page{i}")) for i in range(n_pages)]
        rows[site] = evaluated(pages, "strip-query", "pattern-tree")

    *_, strip_query, pattern_tree = filter(str.strip, shown(worst_table(rows)).splitlines())

    assert [cell.strip() for cell in strip_query.split("|")[2:6]] == ["1.000", "0.167", "0.286", "5"]
    assert strip_query.split("|")[-4].strip() == "-"
    assert pattern_tree.split("|")[-4].strip() == "0"


@pytest.fixture(scope="module")
def rows():
    return evaluated([page(f"/x?page={i}", text(f"page{i}")) for i in range(8)], "keep-all", "strip-query", "verified")


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
        *("", "{", "null", "[]", "{}", "7", "x"),
        *('{"forum": 7}', '{"forum": [7]}', '{"forum": [{}]}', "[" * 100_000),
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
