"""The command line: the whole path of the data, and messages for user mistakes."""

import csv
import json
import shutil
import signal
import subprocess

import pytest

from command_line import run, told
from dedup_crawler import __version__
from dedup_crawler.cli import main
from dedup_crawler.methods import METHODS, make_method
from dedup_crawler.pages.store import PageStore
from planted_forum import forum
from planted_site import HOST, session_ids
from tests.support import fork_server

CRAWL = session_ids()


def page(url, cluster):
    words = " ".join(f"word{cluster}x{i}" for i in range(60))
    body = f"<html><head><title>Page {cluster}</title></head><body><p>{words}.</p></body></html>"
    return {"url": url, "content": body, "referrer": f"{HOST}/"}


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with an imported and labelled crawl, its truth, and a trained model."""
    folder = tmp_path_factory.mktemp("work")
    lines = [json.dumps(page(url, cluster)) for url, cluster in zip(CRAWL.urls, CRAWL.clusters, strict=True)]
    (folder / "pages.jsonl").write_text("\n".join(lines))
    with (folder / "truth.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["url", "cluster"])
        writer.writerows(zip(CRAWL.urls, CRAWL.clusters, strict=True))
    database = folder / "crawl.db"
    assert run("import", folder / "pages.jsonl", "--db", database).exit_code == 0
    assert run("label", "--db", database).exit_code == 0
    trained = run("train", "seq2seq", "--db", database, "--model", folder / "model", "--hidden", 32)
    assert trained.exit_code == 0, trained.output
    assert f"{HOST}/topic.php?t=<num1>&sid=<hex2> -> {HOST}/topic.php?t=<num1>" in trained.stdout
    return folder


def test_labels_are_judged_by_a_truth(work):
    """The planted duplicates are found; with a truth, label prints the quality, also as JSON."""
    found = json.loads(run("label", "--db", work / "crawl.db", "--truth", work / "truth.csv", "--json").stdout)

    assert (found["pages"], found["clusters"], found["duplicates"]) == (240, 120, 120)
    assert found["quality"]["bcubed_precision"] == 1.0
    assert found["quality"]["bcubed_recall"] == 1.0


def test_canonicalizes_arguments_and_lines(work):
    """URLs come as arguments or on stdin, with or without a referrer; one form a line comes out."""
    urls = [f"{HOST}/topic.php?t=107&sid=00c0ffee00c0ffee", f"{HOST}/topic.php?t=107"]
    as_arguments = run("canonicalize", "--model", work / "model", *urls).stdout
    as_lines = run("canonicalize", "--model", work / "model", stdin=f"{urls[0]}\t{HOST}/\n{urls[1]}\n").stdout

    assert as_arguments == as_lines == f"{HOST}/topic.php?t=107\n" * 2


def test_explains_one_url_or_two(work):
    """The reason has its evidence; with two URLs the output tells whether they are the same."""
    one, same, other = (f"{HOST}/topic.php?t={t}&sid={s * 8}" for t, s in ((107, "a1"), (107, "b2"), (108, "a1")))
    explained = json.loads(run("explain", "--model", work / "model", one, same, "--json").stdout)

    assert explained["same"] is True
    assert explained["explanations"][0]["evidence"]["wrong"] == 0
    assert len(explained["explanations"][0]["rules"]) == 1
    assert "different pages" in run("explain", "--model", work / "model", one, other).stdout


def test_evaluates_methods_on_what_they_have_not_seen(work):
    """keep-all saves and loses nothing, seq2seq saves here and loses nothing; table and JSON say the same."""
    command = ("evaluate", "--db", work / "crawl.db", "--truth", work / "truth.csv", "--method", "keep-all")
    command += ("--method", "seq2seq:hidden=32")
    rows = json.loads(run(*command, "--json").stdout)["crawl"]
    table = run(*command).stdout

    assert [row["method"] for row in rows] == ["keep-all", "seq2seq:hidden=32"]
    assert rows[0]["warm"]["saved"] == 0.0
    assert rows[1]["warm"]["saved"] > 0.5
    assert rows[1]["warm"]["n_lost"] == rows[1]["cold"]["n_lost"] == 0
    assert "judged by truth" in table
    assert "judged by own labels" in run("evaluate", "--db", work / "crawl.db", "--method", "keep-all").stdout


def test_two_databases_of_one_name_are_two_sites(work, tmp_path):
    """crawl.db is the usual name, so sites are told apart by their paths, in the tables and as JSON."""
    shutil.copy(work / "crawl.db", tmp_path)
    databases = [str(folder / "crawl.db") for folder in (work, tmp_path)]
    command = ("evaluate", "--db", databases[0], "--db", databases[1], "--method", "keep-all")
    assert list(json.loads(run(*command, "--json").stdout)) == databases
    assert "mean of 2 sites" in run(*command).stdout


def test_a_failed_import_makes_no_database(tmp_path):
    """A file that is missing leaves no empty crawl behind, which the next command would take for a crawl of 0 pages."""
    assert "there is no file" in told(run("import", tmp_path / "crawl.warc", "--db", tmp_path / "crawl.db"))
    assert not (tmp_path / "crawl.db").exists()


@pytest.mark.parametrize("command", sorted(main.commands))
def test_every_command_has_help_with_an_example(command):
    """--help shows how the command is called; --version tells the version of the package."""
    result = run(command, "--help")

    assert result.exit_code == 0
    assert f"Example: dedup-crawler {command}" in " ".join(result.stdout.split())
    assert __version__ in run("--version").stdout


@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_trained(name):
    """Each method has its sub-command, with its options as flags."""
    shown = run("train", name, "--help").stdout

    assert f"Example: dedup-crawler train {name}" in " ".join(shown.split())
    assert ("--preset" in shown) == (name in ("seq2seq", "siamese"))


def test_mistakes_are_one_line_each(work, tmp_path):
    """Each message names the value and the way out, without a traceback."""
    model, database = work / "model", work / "crawl.db"
    empty = tmp_path / "empty.db"
    PageStore(empty).close()

    assert "nowhere.db" in told(run("label", "--db", tmp_path / "nowhere.db"))
    assert "dedup-crawler train" in told(run("canonicalize", "--model", tmp_path / "none", f"{HOST}/"))
    assert "truth.csv" in told(run("import", work / "truth.csv", "--db", tmp_path / "x.db"))
    assert "missing.csv" in told(run("label", "--db", database, "--truth", tmp_path / "missing.csv"))
    assert "known: preset" in told(run("evaluate", "--db", database, "--method", "seq2seq:presets=paper"))
    assert "train fraction is 1.0" in told(run("evaluate", "--db", database, "--train-fraction", 1))
    assert "no pages" in told(run("train", "seq2seq", "--db", empty, "--model", tmp_path / "m"))
    assert "photos" in told(run("train", "keep-all", "--db", database, "--model", _photos(tmp_path)))
    run("import", work / "pages.jsonl", "--db", tmp_path / "raw.db")
    assert "dedup-crawler label" in told(
        run("train", "seq2seq", "--db", tmp_path / "raw.db", "--model", tmp_path / "m")
    )
    assert "preset 'fats'" in told(run("train", "seq2seq", "--db", database, "--model", model, "--preset", "fats"))


def _photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "cat.jpg").write_bytes(b"meow")
    return folder


def test_runs_as_a_module_and_stops_quietly_when_nobody_reads(work):
    """``python -m dedup_crawler`` works, and a reader that closes the pipe early causes no message."""
    command = [*fork_server.command("dedup_crawler"), "canonicalize", "--model", str(work / "model")]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    errors = process.communicate("".join(f"{HOST}/topic.php?t={i}\n" for i in range(50_000)))[1]

    assert "Traceback" not in errors


def test_an_interrupted_training_leaves_no_half_model(work):
    """Ctrl-C during training gives one line and status 130; the old model stays, without leftovers."""
    model = work / "model"
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    command = [*fork_server.command("dedup_crawler"), "--verbose", "train", "seq2seq", "--preset", "paper"]
    # a method that learns nothing reaches its last step
    command += ["--learning-rate", "1e-9", "--hidden", "32", "--max-steps", "1000000"]
    command += ["--db", str(work / "crawl.db"), "--model", str(model)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    begun = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    told = [line for line in errors.splitlines() if not line.startswith("train")]

    assert begun.startswith("train seq2seq: exact ")
    assert process.returncode == 130
    assert told == ["dedup-crawler: interrupted; what was finished is kept, run the command again to go on."]
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    assert [path for path in work.iterdir() if path.name.startswith(".")] == []


@pytest.fixture(scope="module")
def walled(tmp_path_factory):
    """A crawl of two listings in two orders each, and of twelve walls with twenty URLs each."""
    folder = tmp_path_factory.mktemp("walled")
    rows = [f"<li>entry {i}</li><li>of kind {7 * i % 5}</li>" for i in range(8)]
    bodies = {f"{HOST}/list/{n}?by={by}": f"List {n}" for n in range(2) for by in "ab"}
    lines = [
        {
            "url": url,
            "content": f"<html><title>{title}</title><ul>{''.join(rows if url[-1] == 'a' else rows[::-1])}</ul>",
        }
        for url, title in bodies.items()
    ]
    for n in range(12):
        form = (
            f"<html><title>Wall {n}</title><p>Please give your name and your password at wall number {n} to go on.</p>"
        )
        lines += [{"url": f"{HOST}/wall/{n}/{i}", "content": form} for i in range(20)]
    (folder / "pages.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert run("import", folder / "pages.jsonl", "--db", folder / "crawl.db").exit_code == 0
    return folder / "crawl.db"


def test_label_tells_of_sort_orders_and_sinks(walled):
    """One sentence on sort orders with their number; ten sinks, and the number of the others; JSON has all."""
    shown = run("label", "--db", walled).stdout.splitlines()
    found = json.loads(run("label", "--db", walled, "--json").stdout)

    assert [line for line in shown if "(2 joined so)" in line and line.startswith("Sort orders are decided by content")]
    assert sum("20 URLs show one page without content: Wall" in line for line in shown) == 10
    assert shown[-1] == "and 2 more such pages (--json lists all)"
    assert found["sort_orders"] == {"decided_by": "content", "joined": 2}
    assert len(found["sinks"]) == 12


def test_label_explains_each_join(walled):
    """--explain prints the chain of joins with their reasons; JSON has the same steps, none for different pages."""
    run("label", "--db", walled)
    pair = (f"{HOST}/list/0?by=a", f"{HOST}/list/0?by=b")
    shown = run("label", "--db", walled, "--explain", *pair).stdout.splitlines()
    found = json.loads(run("label", "--db", walled, "--explain", *pair, "--json").stdout)

    reason = "the same title and lines in another order"
    assert shown == [pair[0], f"  = {pair[1]}", f"  {reason}", "labelled as the same page"]
    assert found == {"same": True, "steps": [{"url": pair[0], "other": pair[1], "reason": reason}]}
    other = ("label", "--db", walled, "--explain", pair[0], f"{HOST}/wall/0/0")
    assert run(*other).stdout.splitlines() == ["labelled as different pages"]
    assert json.loads(run(*other, "--json").stdout) == {"same": False, "steps": []}


def forum_model(folder, *, with_alone):
    """A model of a forum whose posts are the topic that links to them, and covered if none shows a page alone."""
    crawl = forum(with_alone=with_alone)
    return make_method("verified").fit(crawl.urls, crawl.clusters, crawl.referrers, crawl.redirects).save(folder)


def test_a_line_that_is_not_utf_8_does_not_end_the_command(work):
    """Such lines have forms of their own, and the lines behind them are read."""
    lines = run("canonicalize", "--model", work / "model", stdin=b"http://a/\xff\nhttp://a/\xfe\nhttp://a/x\n").stdout
    assert lines.splitlines() == ["http://a/%5Cxff", "http://a/%5Cxfe", "http://a/x"]


def test_canonicalizes_a_crawl_with_its_referrers(tmp_path):
    """A post found on a topic is the topic; a link on a post is explained with the form of the post."""
    model = forum_model(tmp_path / "model", with_alone=True)
    topic, post, again = (f"{HOST}/{rest}" for rest in ("topic/777", "post/7770", "post/7771"))
    lines = [f"{topic}", f"{post}\t{topic}", f"{post}", f"{again}\t{HOST}/", f"{topic}?new=1\t{post}"]
    told = run("canonicalize", "--model", model, stdin="\n".join(lines) + "\n").stdout.splitlines()

    assert told == [topic, topic, post, again, f"{topic}?new=1"]


def test_explains_a_link_by_its_referrer(tmp_path):
    """With --referrer the reason is the page that holds the link; without it, the post keeps its own form."""
    model = forum_model(tmp_path / "model", with_alone=True)
    post, topic = f"{HOST}/post/7770", f"{HOST}/topic/777"
    on_topic = json.loads(run("explain", "--model", model, post, topic, "--referrer", topic, "--json").stdout)
    alone = json.loads(run("explain", "--model", model, post, topic, "--json").stdout)

    assert (on_topic["same"], alone["same"]) == (True, False)
    assert on_topic["explanations"][0]["reason"].startswith("a link to /post/* on /topic/* leads back to that page")


def test_explains_what_is_covered(tmp_path):
    """The form is the URL's own; the reason says that the URL is covered."""
    shown = run("explain", "--model", forum_model(tmp_path / "model", with_alone=False), f"{HOST}/post/7770").stdout

    assert f"form: {HOST}/post/7770" in shown
    assert "/post/* shows only pages that other URLs show: " in shown


def test_training_says_what_it_learnt_or_that_it_learnt_nothing(work, tmp_path):
    """Each rule is a sentence; on a site without duplicates one line says so."""
    pages = [page(f"{HOST}/topic.php?t={n}", n) for n in range(60)]
    (tmp_path / "pages.jsonl").write_text("\n".join(map(json.dumps, pages)))
    run("import", tmp_path / "pages.jsonl", "--db", tmp_path / "crawl.db")
    run("label", "--db", tmp_path / "crawl.db")
    nothing = run("train", "verified", "--db", tmp_path / "crawl.db", "--model", tmp_path / "model").stdout
    learnt = run("train", "verified", "--db", work / "crawl.db", "--model", tmp_path / "model").stdout

    assert "no rules were learnt: 60 URLs show 60 pages" in nothing
    assert "drop `sid` anywhere: 60 groups, 0 contradictions" in learnt
    assert "no rules" not in learnt
