"""Learning on Spark: the same models as on one computer, and what becomes of hosts and files that cannot be used.

One Spark on two cores of this machine serves all tests.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import random
import shutil
import signal
from pathlib import Path

import pytest

from command_line import run, told
from dedup_crawler.evidence.labelling import label_store
from dedup_crawler.methods import make_method
from dedup_crawler.methods.model.training_data import training_data
from dedup_crawler.pages.imports import import_files
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.store import PageStore
from dedup_crawler.urls.normal import normal_form
from planted_pages import pages
from planted_site import Crawl, session_ids, slugs
from programs import require
from python_process import python
from recordings import response
from repository import ROOT
from short_forum import short_recording

RECORDING = ROOT / "examples" / "forum.warc.zst"
N_RECORDED = 400

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets that pyspark leaves to the collector
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]


@pytest.fixture(scope="module")
def spark():
    """Spark, or a skip; continuous integration must have it."""
    require(shutil.which("java"), "java", "pyspark")
    from dedup_crawler.spark.session import spark_session

    with spark_session("local[2]") as session:
        yield session


@pytest.fixture(scope="module")
def learn(spark):
    """Learn from paths into a folder."""
    from dedup_crawler.spark.inputs import find_inputs
    from dedup_crawler.spark.job import learn_hosts

    def learn(folder, *paths, **options):
        inputs, problems = find_inputs([str(path) for path in paths])
        return problems, learn_hosts(spark, inputs, folder, **options)

    return learn


def as_warc(found):
    return b"".join(response(page.url, page.content, headers={"Content-Type": page.content_type}) for page in found)


def as_json(found):
    rows = ({"url": page.url, "html": page.content.decode(), "referrer": page.referrer} for page in found)
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def as_parquet(path, found):
    import pyarrow as pa
    from pyarrow import parquet

    rows = [{"url": page.url, "content": page.content, "Content Type": page.content_type} for page in found]
    parquet.write_table(pa.Table.from_pylist(rows), path)


def one_machine(database, folder):
    """The model that ``label`` and ``train`` make of a database."""
    with PageStore(database) as store:
        label_store(store, n_workers=1)
        data = training_data(store)
        model = make_method("verified").fit(*data)
    return model.save(folder)


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


@pytest.fixture(scope="module")
def first_job(learn, tmp_path_factory):
    """A job over files of all kinds, good and bad: its inputs, its folder of models, the problems and the report."""
    work = tmp_path_factory.mktemp("spark")
    files = work / "files"
    files.mkdir()
    # the host of the WARC comes in two files; the second answer to the first page is an error, to the last none
    warc = pages(host="warc.example")
    broken = [Page(warc[0].url, 500, content=b"broken", content_type="text/plain")]
    late = [Page(warc[-1].url, 500, content=b"broken", content_type="text/plain")]
    (files / "a1.warc").write_bytes(as_warc(warc[:70] + late))
    (files / "a2.warc").write_bytes(as_warc(broken + warc[70:]))
    (files / "b.jsonl").write_text(as_json(pages(host="json.example:8000")))
    as_parquet(files / "c.parquet", pages(host="parquet.example"))
    with PageStore(files / "d.db") as store:
        store.add_many(pages(host="store.example"))
    # damage in the middle of a file
    damaged = as_warc(pages(host="damaged.example")).split(b"WARC/1.0")
    damaged[20] = b"\xff" * 400
    (files / "e.warc").write_bytes(b"WARC/1.0".join(damaged))
    # nothing to read
    (files / "f.txt").write_text("no pages")
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"link": ["http://x.example/"]}), files / "g.parquet")
    # hosts that cannot be learnt
    hostile = ["http://one.example/", "http://../etc/passwd", "http://..%2f..%2fx/", "no host at all://", "http://:80/"]
    hostile += [f"http://twin.example{port}/{n}" for n in range(60) for port in (":80", "_8000", ":8000")]
    hostile += [f"http://hostile.example/{'%ff' * n}\ud800\0?{'&' * n}=[{n}" for n in range(60)]
    rows = [{"url": url, "html": "<p>" * 300 + url} for url in hostile if "://" in url]
    rows[-1]["html"] = "<div>" * 100_000 + "too deep"
    (files / "h.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    taken = work / "models" / "taken.example"
    taken.mkdir(parents=True)
    (taken / "letter.txt").write_text("mine")
    (files / "i.jsonl").write_text(as_json(pages(host="taken.example")))
    return files, work / "models", *learn(work / "models", files)


def test_models_are_those_of_one_machine(first_job, tmp_path):
    """Byte for byte, from WARC, JSON lines, Parquet and a crawl database, one of them damaged."""
    files, models, _, _ = first_job
    sources = {
        "warc.example": ["a1.warc", "a2.warc"],
        "json.example_8000": ["b.jsonl"],
        "damaged.example": ["e.warc"],
        "hostile.example": ["h.jsonl"],
    }
    for host, names in sources.items():
        with PageStore(tmp_path / f"all-{host}.db") as store:
            import_files([files / name for name in names], store)
            own = [page for page in store.pages() if host.replace("_", ":") in page.url]
        with PageStore(tmp_path / f"{host}.db") as store:
            store.add_many(own)
        assert contents(models / host) == contents(one_machine(tmp_path / f"{host}.db", tmp_path / host)), host
    shutil.copy(files / "d.db", tmp_path / "store.example.db")
    expected = contents(one_machine(tmp_path / "store.example.db", tmp_path / "store.example"))
    assert contents(models / "store.example") == expected
    assert json.loads(expected["rules.json"])


def test_a_recorded_site_gives_the_same_model(learn, tmp_path):
    """Real pages, with redirects and referrers; the benchmark compares eight whole sites."""
    (tmp_path / "forum.warc").write_bytes(short_recording(RECORDING, N_RECORDED))
    with PageStore(tmp_path / "forum.db") as store:
        import_files([tmp_path / "forum.warc"], store)

    _, report = learn(tmp_path / "models", tmp_path / "forum.db")

    model = one_machine(tmp_path / "forum.db", tmp_path / "one")
    assert contents(tmp_path / "models" / "forum.example.org") == contents(model)
    (row,) = report.rows
    assert (row.n_pages, row.n_found, row.refused) == (N_RECORDED, N_RECORDED, "")
    assert row.n_rules > 0 < row.n_merged


def test_bad_input_is_named_and_costs_nothing_else(first_job):
    """A line for each file, and for each refused host; all others are learnt."""
    _, models, problems, report = first_job
    assert [problem.split("files/")[1][:9] for problem in problems] == ["f.txt sta", "g.parquet"]
    assert "no column 'url or address'; columns: link" in problems[1]
    no_host, no_warc = sorted(report.damages, key=lambda damage: "e.warc" in damage)
    assert "'no host at all://' is not an absolute URL" in no_host
    assert "e.warc: 1 place could not be read; first " in no_warc
    refused = {row.host: row.refused for row in report.rows if row.refused}
    assert refused.pop("one.example") == "1 page, fewer than 50"
    assert "is not a model folder and would be overwritten" in refused.pop("taken.example")
    twins = {refused.pop(f"twin.example{port}") for port in ("_8000", ":8000")}
    assert twins == {"another host has the same folder, twin.example_8000"}
    assert set(refused.values()) == {"this is no name of a host"}
    assert {row.host for row in report.rows} - {
        "one.example",
        "taken.example",
        "twin.example_8000",
        "twin.example:8000",
        *refused,
    } == {
        "warc.example",
        "json.example:8000",
        "parquet.example",
        "store.example",
        "damaged.example",
        "hostile.example",
        "twin.example",
    }
    assert {row.host: row.n_skipped for row in report.rows if row.n_skipped} == {"hostile.example": 1}
    assert sorted(path.name for path in models.parent.iterdir()) == ["files", "models"]
    assert contents(models / "taken.example") == {"letter.txt": b"mine"}


def test_the_catalogue_is_a_table(first_job):
    """The rows of the report, for any reader of Parquet."""
    from dataclasses import asdict

    from pyarrow import parquet

    _, models, _, report = first_job
    assert parquet.read_table(models / "catalogue.parquet").to_pylist() == [asdict(row) for row in report.rows]


def test_done_hosts_are_not_done_again(first_job, learn):
    """A second run learns what failed or is gone, and leaves the rest untouched."""
    files, models, _, first = first_job
    before = {path: path.stat().st_mtime_ns for path in models.glob("*/model.json")}
    gone = contents(models / "warc.example")
    shutil.rmtree(models / "warc.example")
    (models / "taken.example" / "letter.txt").unlink()

    _, report = learn(models, files)

    assert report.n_known == len(before) - 1
    assert contents(models / "warc.example") == gone
    changed = {path.parent.name for path, time in before.items() if path.stat().st_mtime_ns != time}
    assert changed == {"warc.example"}
    assert (models / "taken.example" / "model.json").is_file()
    assert len(report.rows) == len(first.rows)


def test_a_page_that_kills_its_process_costs_one_try(spark, tmp_path):
    """
    The first try of a task parses the pages itself and dies with such a page. The next try leaves them to a process
    beside it, and has all texts.
    """
    from dedup_crawler.spark import texts
    from dedup_crawler.spark.inputs import find_inputs
    from dedup_crawler.spark.session import inputs_frame

    found = pages(60, host="killer.example")
    (tmp_path / "killer.jsonl").write_text(as_json(found))
    deadly = found[30].url

    def reading(number, source):
        clean = texts.clean_page

        def kill(page, *arguments, **options):
            if page.url == deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            return clean(page, *arguments, **options)

        texts.clean_page = kill
        try:
            yield from texts.texts_of(number, source, {"killer.example": {}})
        finally:
            texts.clean_page = clean

    inputs, _ = find_inputs([str(tmp_path)])
    rows = inputs_frame(spark, inputs, reading, texts.TEXTS).collect()

    read = [texts.Text.of(row.text).page for row in rows]
    assert [page.url for page in read] == [page.url for page in found]
    assert all(page.main_text for page in read)
    assert [row.n_letters for row in rows] == [len(page.main_text) for page in read]


def test_a_page_that_never_ends_ends_the_first_try():
    """The alarm clock ends the process, so that Spark tries the task again."""
    pytest.importorskip("pyspark")
    code = (
        "import time; from dedup_crawler.spark import texts; texts.MAX_SECONDS = 0.1; "
        "texts.clean_page = lambda *_, **__: time.sleep(60); list(texts._read_here(['page']))"
    )
    assert python("-c", code).returncode == -signal.SIGALRM


def test_a_large_host_is_sampled_by_template(learn, tmp_path):
    """Frequent templates are cut to their share, rare ones stay; other files and orders choose the same URLs."""
    found = pages(400, host="large.example")
    rare = [Page(f"http://large.example/help?about={n}", content=b"<p>help %d" % n) for n in range(10)]
    (tmp_path / "all.warc").write_bytes(
        as_warc([Page(p.url, content=p.content, content_type="text/html") for p in found + rare])
    )
    halves = [as_json(found[1::2] + rare), as_json(found[::2])]
    for number, half in enumerate(halves):
        (tmp_path / f"half{number}.jsonl").write_text(half)

    _, whole = learn(tmp_path / "whole", tmp_path / "all.warc", max_pages=300)
    _, parts = learn(tmp_path / "parts", *(tmp_path / f"half{n}.jsonl" for n in (0, 1)), max_pages=300)

    (row,), (other,) = whole.rows, parts.rows
    assert row.is_sampled
    assert row.n_found == len(found) + len(rare)
    assert 200 < row.n_pages < 400
    assert (other.n_pages, other.n_clusters) == (row.n_pages, row.n_clusters)
    rules = (tmp_path / "whole" / "large.example" / "rules.json").read_text()
    assert json.loads(rules), "duplicates went together, so the rules are still found"


def test_shares_and_keys():
    """Shares fill up to the bound; the URLs of one thing have one key, however they are written."""
    pytest.importorskip("pyspark")
    from dedup_crawler.spark.inputs import shares_of, sort_of

    n_of = {number: 10**number for number in range(6)}
    for most in (60, 1000, 50_000):
        shares = shares_of(n_of, most)
        assert sum(n_of[number] * share for number, share in shares.items()) == pytest.approx(most)
        assert shares[0] == shares[1] == 1
    assert shares_of(n_of, 10**6) == {}
    same = ["/topic/42", "/topic/42-welcome?page=1", "/topic/42-welcome#x", "/t.php/42?sid=7"]
    assert len({sort_of(f"http://a.example{rest}", None).key for rest in same}) == 1
    assert (
        sort_of("http://a.example/post/9", "http://a.example/topic/42").key
        == sort_of("http://a.example/t/42", None).key
    )
    templates = {sort_of(f"http://a.example/topic/{n}?page=2", None).template for n in range(50)}
    assert len(templates) == 1


def test_the_stages_of_wsdm10_learn_the_rules_of_one_machine(spark, tmp_path):
    """
    Tokens, pairs, trees and selection as data frames, over several hosts at once: the rules, their counts and the deep
    keys are those of ``train decision-tree``, on planted sites and on the URLs of a real forum.
    """
    from dedup_crawler.spark.decision_tree_stages import URLS, decision_tree_rules

    with gzip.open(RECORDING.with_name("forum.truth.csv.gz"), "rt") as file:
        real = [(row["url"], row["cluster"]) for row in csv.DictReader(file)]
    numbers = {cluster: number for number, (_, cluster) in enumerate(real)}
    crawls = {
        "one.example": session_ids(),
        "two.example": slugs(),
        "forum.example.org": Crawl([url for url, _ in real], [numbers[cluster] for _, cluster in real]),
    }
    rows, expected = [], {}
    for host, crawl in crawls.items():
        urls = [normal_form(url.replace("http://forum.example/", f"http://{host}/")) for url in crawl.urls]
        rows += [(host, place, *each) for place, each in enumerate(zip(urls, crawl.clusters, strict=True))]
        model = make_method("decision-tree").fit(urls, crawl.clusters).save(tmp_path / host)
        cuts = json.loads((model / "deep_keys.json").read_text())
        expected[host] = json.loads((model / "rules.json").read_text()), cuts.get(host, {})
    random.Random(0).shuffle(rows)

    found = decision_tree_rules(spark.createDataFrame(rows, URLS.names), make_method("decision-tree")).collect()

    assert {row.host: (json.loads(row.rules), json.loads(row.cuts)) for row in found} == expected
    assert all(rules for rules, _ in expected.values())


def test_mistakes_are_one_line(tmp_path):
    """A missing file, nothing but unreadable files, and a machine without the extra, which only a new process is."""
    pytest.importorskip("pyspark")
    (tmp_path / "x.txt").write_text("no pages")
    line = ["spark-train", tmp_path / "x.txt", "--models", tmp_path / "models"]
    assert "there is no file or folder missing.warc" in told(run(line[0], "missing.warc", *line[2:]))
    assert "which is no known format" in told(run(*line))
    blocked = "import sys; sys.modules['pyspark'] = None; "
    code = f"{blocked}import runpy; runpy.run_module('dedup_crawler', run_name='__main__')"
    done = python("-c", code, *line)
    assert done.returncode == 1
    assert "pip install 'dedup-crawler[spark]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_the_command_tells_what_it_did(spark, tmp_path):
    """A line for each host and file, or JSON; ``python -m dedup_crawler.spark`` is the same command."""
    (tmp_path / "pages.jsonl").write_text(as_json(pages(host="forum.example")))
    (tmp_path / "few.jsonl").write_text(as_json(pages(host="few.example")[:3]) + "damaged\n")
    (tmp_path / "no.txt").write_text("no pages")
    line = ["spark-train", tmp_path, "--models", tmp_path / "models"]

    done = run(*line)
    again = run(*line, "--json")

    assert (done.exit_code, again.exit_code) == (0, 0), done.output + again.output
    first, learnt, refused = done.stdout.splitlines()
    assert first.startswith("1 hosts learnt, 0 of them by an earlier run; 1 refused; 2 files with damage; ")
    assert learnt.startswith("  forum.example: 240 pages: 1 rules, ")
    assert refused == "  few.example: refused: 3 pages, fewer than 50"
    assert [warning.split(str(tmp_path))[1][:6] for warning in done.stderr.splitlines()] == ["/no.tx", "/few.j"]
    printed = json.loads(again.stdout)
    assert printed["known"] == len(printed["hosts"]) == 1
    assert printed["refused"] == {"few.example": "3 pages, fewer than 50"}
    help_text = python("-m", "dedup_crawler.spark", "--help").stdout
    assert "Learn a model for each host of many recordings on Apache Spark" in help_text
