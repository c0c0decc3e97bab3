"""The background job: beside a writing crawl, with complete models or none, and one line per error."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest

from dedup_crawler.errors import BadInputError
from dedup_crawler.evidence.labelling import label_store
from dedup_crawler.live.models.refit import refit
from dedup_crawler.methods import load_model, make_method
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.store import PageStore
from live_site import wait_until
from planted_pages import pages
from planted_site import HOST
from recordings import PYTHON

MAIN = """
import sys
from pathlib import Path
from dedup_crawler.live.models.learn_job import main
sys.exit(main(Path(sys.argv[1])))
"""
JOB = [*PYTHON, "-m", "dedup_crawler.live.models.learn_job"]
SAME = [f"{HOST}/topic.php?t=777", f"{HOST}/topic.php?t=777&sid=0123456789abcdef"]


def written(path: Path, crawled: list[Page]) -> Path:
    """A database with texts, so that jobs need no processes to read them."""
    with PageStore(path) as store:
        store.add_many(crawled)
        label_store(store, n_workers=1)
    return path


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("crawled") / "crawl.db", pages(60))


@pytest.fixture(scope="module")
def walled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("walled") / "crawl.db", pages(120, wall_after=240))


@pytest.fixture
def db(crawled: Path, tmp_path: Path) -> Path:
    with PageStore(crawled):  # closing leaves one file
        pass
    return Path(shutil.copy(crawled, tmp_path / "crawl.db"))


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Return the folder for a job's temporary files."""
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


def database_line(db: Path, scratch: Path) -> IO[str]:
    """Return the stdin of a job: its first line names the database."""
    line = scratch.with_suffix(".stdin")
    line.write_text(f"{db}\n")
    return line.open()


def job(db: Path, models: Path, scratch: Path, *, code: str = "") -> subprocess.Popen[str]:
    """Start a job, as a module or, with *code* before it, from a script."""
    command = JOB
    if code:
        command = [*PYTHON, "-c", f"{textwrap.dedent(code)}\n{MAIN}"]
    with database_line(db, scratch) as stdin:
        return subprocess.Popen(
            [*command, str(models)],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(scratch)},
        )


def test_a_job_learns_while_the_crawl_writes(db: Path, tmp_path: Path, scratch: Path):
    """
    Pages are written to the database during the whole job: neither waits for the other, the model is learnt
    from one state of the database and saved where the next crawl looks for it, and no temporary file is left.
    """
    process = job(db, tmp_path / "models", scratch)
    n_written = 0
    with PageStore(db) as store:
        while process.poll() is None:
            store.add(Page(f"{HOST}/late.php?n={n_written}", content=b"<p>late</p>" * 50, content_type="text/html"))
            store.flush()
            n_written += 1
            time.sleep(0.25)  # even on a slow machine the late pages are few
        said, complained = process.communicate()

        assert (process.returncode, complained) == (0, "")
        assert len(store) == 240 + n_written
    report = json.loads(said)
    assert report["learnt"] == [str(tmp_path / "models" / "forum.example")]
    model = load_model(tmp_path / "models" / "forum.example")
    assert 240 <= model.n_urls_ <= 240 + n_written
    assert len(set(model.canonicalize_many(SAME))) == 1
    assert list(scratch.iterdir()) == []


def test_a_damaged_database_is_one_line(db: Path, tmp_path: Path, scratch: Path):
    """A database with overwritten bytes: status 1, one line that names it, nothing left behind."""
    size = db.stat().st_size
    with db.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))

    process = job(db, tmp_path / "models", scratch)
    said, complained = process.communicate()

    assert (process.returncode, said) == (1, "")
    assert complained.count("\n") == 1
    assert str(scratch) in complained or str(db) in complained
    assert list(scratch.iterdir()) == []


def test_a_missing_extra_is_one_line(db: Path, tmp_path: Path, scratch: Path):
    """Without a library for learning the job names the extra to install, and no model is made."""
    process = job(db, tmp_path / "models", scratch, code="import sys; sys.modules['simhash'] = None")
    _, complained = process.communicate()

    assert process.returncode == 1
    assert complained == (
        "Fingerprinting the text of pages needs simhash, which is not installed: pip install 'dedup-crawler[learn]'\n"
    )
    assert list((tmp_path / "models").iterdir()) == []


def test_a_full_disk_leaves_the_old_model(db: Path, tmp_path: Path, scratch: Path):
    """The disk fills up while the new model is written: one line names the file; the old model stays whole."""
    models = tmp_path / "models"
    make_method("keep-all").fit([f"{HOST}/"], [0]).save(models / "forum.example")
    digest = load_model(models / "forum.example").digest

    process = job(
        db,
        models,
        scratch,
        code="""
            import resource
            from dedup_crawler.methods import Canonicalizer
            save = Canonicalizer.save
            def save_on_a_full_disk(model, folder):
                resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
                try:
                    return save(model, folder)
                finally:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            Canonicalizer.save = save_on_a_full_disk
        """,
    )
    _, complained = process.communicate()

    assert process.returncode == 1
    assert "cannot be written (File too large); a model that was there stays." in complained
    assert complained.count("\n") == 1
    assert load_model(models / "forum.example").digest == digest
    assert [path.name for path in models.iterdir()] == ["forum.example"]


def test_a_job_ends_with_the_process_that_started_it(db: Path, tmp_path: Path, scratch: Path):
    """The crawl is killed (-9) during the job: the job ends by itself, and leaves nothing."""
    slow = "import time; from dedup_crawler.live.models import refit; refit.cluster_labelled = lambda *_: "
    slow += "time.sleep(600)"
    crawl_code = """
        import subprocess, sys, time
        print(subprocess.Popen([sys.executable, "-c", *sys.argv[1:]]).pid, flush=True)
        time.sleep(600)
    """
    with database_line(db, scratch) as stdin:
        crawl = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(crawl_code), f"{slow}\n{MAIN}", str(tmp_path / "models")],
            stdin=stdin,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(scratch)},
        )
    assert crawl.stdout is not None
    pid = int(crawl.stdout.readline())
    wait_until((tmp_path / "models").exists)

    crawl.kill()
    crawl.wait()
    crawl.stdout.close()

    wait_until(lambda: not is_running(pid))
    assert list(scratch.iterdir()) == []


def test_a_wall_does_not_replace_the_model(crawled: Path, walled: Path, tmp_path: Path):
    """From some page on a site answers with a log-in form: the earlier model stays, and the line gives the reason."""
    refit(str(crawled), tmp_path)
    digest = load_model(tmp_path / "forum.example").digest

    report = refit(str(walled), tmp_path)

    assert report.learnt == []
    [line] = report.refused
    assert "240 URLs show one page" in line
    assert str(tmp_path / "forum.example") in line
    assert load_model(tmp_path / "forum.example").digest == digest


def test_a_page_with_many_urls_is_no_wall(crawled: Path, tmp_path: Path):
    """Half of the later URLs show one page, such as a file at many revisions: the new model replaces the old one."""
    refit(str(crawled), tmp_path)
    n_before = len(pages())
    often = [each if n < n_before or n % 2 else pages()[0] for n, each in enumerate(pages(120))]
    again = [replace(each, url=old.url) for each, old in zip(often, pages(120), strict=True)]

    report = refit(str(written(tmp_path / "often.db", again)), tmp_path)

    assert report.refused == []
    assert report.learnt == [str(tmp_path / "forum.example")]


def test_a_model_learnt_from_more_pages_stays(crawled: Path, tmp_path: Path):
    """A new crawl with fewer pages does not replace the model of a larger one."""
    larger = [f"{HOST}/topic.php?t={i}" for i in range(1000)]
    make_method("keep-all").fit(larger, list(range(1000))).save(tmp_path / "forum.example")

    report = refit(str(crawled), tmp_path)

    assert (report.learnt, report.refused) == ([], [])
    assert load_model(tmp_path / "forum.example").name == "keep-all"


def test_a_damaged_model_is_learnt_again(crawled: Path, tmp_path: Path):
    """A broken model is replaced, because learning again is the way out."""
    refit(str(crawled), tmp_path)
    (tmp_path / "forum.example" / "model.json").write_text("{")

    assert refit(str(crawled), tmp_path).learnt == [str(tmp_path / "forum.example")]
    assert len(set(load_model(tmp_path / "forum.example").canonicalize_many(SAME))) == 1


def test_a_single_model_folder_stays_one(crawled: Path, tmp_path: Path):
    """A model folder is replaced by a model, not filled with folders of hosts."""
    make_method("keep-all").fit([f"{HOST}/"], [0]).save(tmp_path / "mine")

    assert refit(str(crawled), tmp_path / "mine").learnt == [str(tmp_path / "mine")]
    assert load_model(tmp_path / "mine").name == "verified"


def test_every_host_has_a_model_of_its_own(tmp_path: Path):
    """
    Two hosts, one with a port: two folders, each for its host alone. No folder for hosts with few pages, nor for hosts
    whose names would be other folders.
    """
    both = [*pages(30), *pages(30, host="wiki.example:8000")]
    few = [Page(f"http://few.example/{i}") for i in range(10)]
    evil = [Page(f"http://{host}/{i}") for i in range(60) for host in ("..", ".", ".hidden", "a%2Fb", "x!y")]
    db = written(tmp_path / "crawl.db", [*both, *few, *evil])

    report = refit(str(db), tmp_path / "models")

    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == ["forum.example", "wiki.example_8000"]
    assert len(report.learnt) == 2
    assert load_model(tmp_path / "models" / "wiki.example_8000").hosts == {"wiki.example:8000"}
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["models"]


def test_too_few_pages_are_said(tmp_path: Path):
    """Nothing to learn from is an error, not an empty model."""
    db = written(tmp_path / "crawl.db", pages(5))

    with pytest.raises(BadInputError, match="none of the 1 hosts of the crawl has 50 pages yet"):
        refit(str(db), tmp_path / "models")


def is_running(pid: int) -> bool:
    """Return True if the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
