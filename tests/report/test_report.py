"""The report as a file: every section, and messages for user mistakes."""

import base64
import json
import os
import re
from xml.etree import ElementTree

import pytest

from command_line import run, told
from dedup_crawler.errors import BadInputError, MissingExtraError
from dedup_crawler.methods import make_method
from dedup_crawler.methods.model.evidence_file import EvidenceFile, RuleCounts, evidence_path, write_evidence
from dedup_crawler.methods.model.training_data import training_data
from dedup_crawler.pages.records import Page, PageText
from dedup_crawler.pages.store import PageStore
from dedup_crawler.report.making import MAX_MODELS, make_report
from dedup_crawler.report.page import SECTIONS
from planted_site import HOST, session_ids
from python_process import python
from report_html import ATTRIBUTES, TAGS, ReportHtml

CRAWL = session_ids()


def report(*arguments):
    return run("report", *arguments)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A labelled crawl, models of three kinds, a comparison, and the output of a live crawl."""
    folder = tmp_path_factory.mktemp("work")
    pages = list(zip(CRAWL.urls, CRAWL.clusters, strict=True))
    with PageStore(folder / "crawl.db") as store:
        body = b"<p>x</p>" * 20
        store.add_many(
            Page(url, 200, f"{HOST}/", content=body, fetched_at=1.6e9 + n) for n, (url, _) in enumerate(pages)
        )
        store.write_texts(
            PageText(url, f"Page {page}", None, f"text of page {page} " * 20, None) for url, page in pages
        )
        store.write_clusters(dict(pages))
        data = training_data(store)
    verified = make_method("verified").fit(data.urls, data.clusters, data.referrers, data.redirects)
    verified.save(folder / "forum")
    make_method("random-forest").fit(data.urls, data.clusters).save(folder / "forest")
    make_method("seq2seq", hidden=16, max_steps=60).fit(data.urls, data.clusters).save(folder / "translator")
    rule = next(rule for rule, sentence in verified.rule_sentences().items() if "sid" in sentence)
    write_evidence(evidence_path(folder / "forum"), EvidenceFile(verified.digest, {rule: RuleCounts(38, 2, False)}))
    lines = [{"url": url, "form": "x", "rules": [rule], "owner": f"{HOST}/", "time": 1.7e9} for url in CRAWL.urls[:100]]
    (folder / "drops.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "truth.csv").write_text("url,cluster\n" + "".join(f"{url},{page}\n" for url, page in pages))
    command = ["evaluate", "--db", str(folder / "crawl.db"), "--method", "keep-all", "--method", "verified", "--json"]
    (folder / "comparison.json").write_text(run(*command).stdout)
    return folder


def everything(work):
    models = [part for name in ("forum", "forest", "translator") for part in ("--model", work / name)]
    others = ("--dropped", work / "drops.jsonl", "--comparison", work / "comparison.json")
    return ("--db", work / "crawl.db", *models, *others)


@pytest.fixture(scope="module")
def full(work):
    result = report(*everything(work), "--output", work / "full.html")
    assert result.exit_code == 0, result.output
    assert re.fullmatch(r".*full\.html: [\d,]+ kB\n", result.stdout)
    return ReportHtml(work / "full.html")


def test_every_section_is_filled(full):
    """With all inputs no section says how to fill it."""
    assert list(full.texts)[1:] == [id_ for id_, _ in SECTIONS]
    assert "fills this" not in full.text


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        (
            "site",
            [
                "URLs fetched 240 different pages 120 fetches with nothing new 120 their share 50.0 %",
                "bytes they cost 19.2 kB bytes in all 38.4 kB",
                "Fetched from 2020-09-13 12:26 to 2020-09-13 12:30 (UTC)",
                "Pages with most URLs",
            ],
        ),
        (
            "rules",  # with the effect of each on this crawl, examples, and the refused hypotheses
            [
                "drop `sid` anywhere: 60 groups, 0 contradictions, at most 3.1 % wrong (95 %)",
                "On this crawl: 120 drops, 0 wrong",
                "was dropped in favour of",
                "100 % of the 120 avoidable fetches saved, 0 pages of 120 lost",
                "It was trained on exactly these pages",
                f"template {HOST}/topic.php?t=<num1>&sid=<hex2> becomes",
            ],
        ),
        (
            "training",  # curves of the translator, confusion matrix and calibration of the forest
            [
                "Epoch by epoch: loss.",
                "pairs, each with a URL that a first model was not trained on",
                "said different",
                "large dots stand for many pairs",
            ],
        ),
        ("comparison", ["keep-all", "dup-red.", "cold simulated crawl of SIGIR'17"]),
        (
            "live",  # with the verdict on the rule with most drops
            [
                "requests dropped 100",
                "40 duplicates were fetched all the same and compared: 38 showed the page that they were taken for",
                "So an estimated 5 of the dropped URLs would have shown another page (95 %: 1 to 17)",
                "Drops to check",
            ],
        ),
    ],
)
def test_a_section_tells_what_is_promised(full, section, expected):
    """Counts, evidence, examples, figures and estimates, each in its section."""
    text = " ".join(full.texts[section].split())
    assert [each for each in expected if each not in text] == []


def test_a_truth_judges_instead_of_our_labels(work):
    """With a truth the report says so, and has the quality of the labels."""
    result = report(*everything(work), "--truth", work / "truth.csv", "--output", work / "truth.html")
    assert result.exit_code == 0, result.output
    text = ReportHtml(work / "truth.html").text

    assert "Which pages are the same is decided by the given truth" in text
    assert "B-cubed precision 1.0000, recall 1.0000" in text


def test_it_is_one_file_that_needs_nothing(full, work):
    """Nothing is loaded: no script, style sheet or font, and only embedded images; a policy forbids the rest."""
    page = (work / "full.html").read_text()

    assert full.tags <= TAGS
    assert full.attributes <= ATTRIBUTES
    assert full.open == []
    assert all(image["src"].startswith("data:image/svg+xml;base64,") and image["alt"] for image in full.images)
    assert "default-src 'none'; img-src data:;" in page
    assert not re.search(r"\b(url\(|@import|srcset|onload|onerror)", page)
    assert all(link.startswith(("http://", "https://", "#")) for link in full.links)


def test_every_figure_is_a_plain_svg(full):
    """Well-formed, with text as text, without scripts and without links out."""
    assert len(full.images) >= 5
    for image in full.images:
        svg = base64.b64decode(image["src"].partition(",")[2])
        tree = ElementTree.fromstring(svg)
        names = {element.tag.rpartition("}")[2] for element in tree.iter()}
        assert names <= {"svg", "g", "path", "defs", "clipPath", "rect", "use", "text", "style", "tspan"}, names
        hrefs = {value for element in tree.iter() for name, value in element.attrib.items() if name.endswith("href")}
        assert all(href.startswith("#") for href in hrefs)
        assert len(svg) < 60_000


def test_the_same_input_gives_the_same_file(work):
    """The same input gives the same bytes: two reports can be compared."""
    for name in ("one.html", "two.html"):
        assert report(*everything(work), "--output", work / name).exit_code == 0

    assert (work / "one.html").read_bytes() == (work / "two.html").read_bytes()


def test_numbers_for_a_program(work):
    """--json has the place of the report and its counts."""
    printed = json.loads(report("--db", work / "crawl.db", "--output", work / "json.html", "--json").stdout)

    assert printed == {
        "report": str(work / "json.html"),
        "bytes": (work / "json.html").stat().st_size,
        "urls": 240,
        "pages": 120,
        "repeats": 120,
        "models": 0,
    }


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        (("--db",), ("rules", "training", "comparison", "live")),
        (("--model",), ("site", "waste", "training", "comparison", "live")),
        (("--comparison",), ("site", "waste", "rules", "training", "live")),
        (("--dropped",), ("site", "waste", "rules", "training", "comparison")),
    ],
)
def test_a_section_without_data_says_what_would_fill_it(work, tmp_path, monkeypatch, given, missing):
    """One sentence names the command or option; the other sections are complete."""
    monkeypatch.chdir(tmp_path)  # without a crawl.db
    make_method("keep-all").fit([f"{HOST}/"], [0]).save(tmp_path / "model")
    values = {
        "--db": work / "crawl.db",
        "--model": tmp_path / "model",
        "--comparison": work / "comparison.json",
        "--dropped": work / "drops.jsonl",
    }
    result = report(*(part for name in given for part in (name, values[name])))
    assert result.exit_code == 0, result.output
    texts = ReportHtml(tmp_path / "report.html").texts

    for id_ in missing:
        assert re.search(r"fills? this", texts[id_]), id_
        assert re.search(r"--\w+|dedup-crawler|DEDUP_DROPPED|beside the model", texts[id_]), id_
    assert len(texts) == len(SECTIONS) + 1


def test_an_unlabelled_crawl_says_how_to_label_it(tmp_path):
    """Fetches are counted; duplicates are not known yet."""
    with PageStore(tmp_path / "crawl.db") as store:
        store.add_many(Page(f"{HOST}/{n}", content=b"x" * 100) for n in range(30))
    assert report("--db", tmp_path / "crawl.db", "--output", tmp_path / "r.html").exit_code == 0
    texts = ReportHtml(tmp_path / "r.html").texts

    assert "URLs fetched" in texts["site"]
    assert "dedup-crawler label" in texts["site"]
    assert "dedup-crawler label" in texts["waste"]


def test_an_empty_database_is_no_trouble(tmp_path):
    """A crawl that has just begun shows nothing, without a division by zero."""
    PageStore(tmp_path / "crawl.db").close()
    assert report("--db", tmp_path / "crawl.db", "--output", tmp_path / "r.html").exit_code == 0


def test_mistakes_are_one_line_each(work, tmp_path):
    """Each message names the value and the way out; nothing is written."""
    output = tmp_path / "report.html"
    (tmp_path / "photo.jpg").write_bytes(b"meow")
    (tmp_path / "other.csv").write_text("url,cluster\nhttp://other.example/,1\n")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "model.json").write_text("{")

    def fails(*arguments):
        return told(report("--output", output, *arguments))

    assert "nowhere.db" in fails("--db", tmp_path / "nowhere.db")
    assert "dedup-crawler train" in fails("--db", work / "crawl.db", "--model", tmp_path / "none")
    assert "model.json cannot be read" in fails("--db", work / "crawl.db", "--model", tmp_path / "broken")
    assert "missing.csv" in fails("--db", work / "crawl.db", "--truth", tmp_path / "missing.csv")
    assert "none of the" in fails("--db", work / "crawl.db", "--truth", tmp_path / "other.csv")
    assert "holds no drops" in fails("--dropped", tmp_path / "photo.jpg")
    assert "evaluate --json" in fails("--comparison", tmp_path / "photo.jpg")
    assert "not a database" in fails("--db", tmp_path / "photo.jpg")
    assert not output.exists()
    assert "no report and would be overwritten" in told(report("--db", work / "crawl.db", "-o", tmp_path / "photo.jpg"))
    assert (tmp_path / "photo.jpg").read_bytes() == b"meow"
    assert "not a regular file" in told(report("--db", work / "crawl.db", "-o", "/dev/null"))
    assert "is a folder" in told(report("--db", work / "crawl.db", "-o", tmp_path))
    assert "no folder" in told(report("--db", work / "crawl.db", "-o", tmp_path / "none" / "report.html"))
    many = [part for _ in range(MAX_MODELS + 1) for part in ("--model", work / "forum")]
    assert "too many" in fails("--db", work / "crawl.db", *many)


def test_an_interrupted_report_leaves_the_old_one(work, tmp_path):
    """It is written to a temporary file and renamed; a failure leaves no partial file."""
    output = tmp_path / "report.html"
    assert report("--db", work / "crawl.db", "--output", output).exit_code == 0
    before = output.read_bytes()

    class Stopped(Exception):  # noqa: N818 - represents Ctrl-C
        pass

    def stop(note, done, total):
        if note == "patterns":
            raise Stopped

    with pytest.raises(Stopped):
        make_report(output, db=str(work / "crawl.db"), progress=stop)
    assert output.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_said(work, tmp_path):
    """One line names the file and the reason."""
    tmp_path.chmod(0o500)
    with pytest.raises(BadInputError, match="cannot be written"):
        make_report(tmp_path / "r.html", db=str(work / "crawl.db"))


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_it_is_an_extra(work, tmp_path, package):
    """Without the package one line says how to install it; the other commands work."""
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from dedup_crawler.cli import main\n"
        f"main(['report', '--db', {str(work / 'crawl.db')!r}, '--output', {str(tmp_path / 'r.html')!r}])\n"
    )
    done = python("-c", code)

    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"dedup-crawler: the report needs {package}, which is not installed: pip install 'dedup-crawler[report]'"
    ]
    assert issubclass(MissingExtraError, ImportError)
    assert not (tmp_path / "r.html").exists()


def test_progress_is_told(work, tmp_path):
    """Each pass over the pages reports progress."""
    notes = []
    make_report(
        tmp_path / "r.html",
        db=str(work / "crawl.db"),
        models=[work / "forum"],
        dropped=work / "drops.jsonl",
        progress=lambda note, done, total: notes.append((note, done, total)),
    )

    assert {note for note, _, _ in notes} == {"drops", "tokens", "pages", "patterns", "forum"}
    assert all(0 <= done <= total for _, done, total in notes)
