"""Learning beside a crawl: when it happens, and that no failure of a job reaches the crawl."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from dedup_crawler.live.collecting.crawl_database import models_folder
from dedup_crawler.live.models import learner as module
from dedup_crawler.live.models.learner import Learner, check_learning
from dedup_crawler.methods import load_model
from dedup_crawler.pages.store import PageStore
from live_site import wait_until
from planted_pages import pages


class Crawl:
    """A crawl as its learner sees it: the reported models and troubles."""

    def __init__(self, tmp_path: Path, learn_after: int = 100, database: str = "crawl.db") -> None:
        self.models: list[Path] = []
        self.troubles: list[str] = []
        self.learner = Learner(
            str(tmp_path / database), tmp_path / "models", learn_after, self.models.append, self.troubles.append
        )

    @property
    def is_learning(self) -> bool:
        """Return True if a job was told to learn and has not ended."""
        return self.learner._is_fitting()

    def learn(self, n_pages: int) -> None:
        """Fetch *n* pages, and wait for the result."""
        self.learner.tick(n_pages)
        while self.is_learning:
            time.sleep(0.05)
            self.learner.tick(n_pages)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """Return the folder of a crawl that has stored 240 pages."""
    with PageStore(tmp_path / "crawl.db") as store:
        store.add_many(pages(60))
    return tmp_path


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for the learners' temporary files."""
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    return tmp_path / "scratch"


def test_a_model_is_there_after_enough_pages(stored: Path, scratch: Path):
    """Before that nothing happens; then one job learns a model of the host, and reports it once."""
    crawl = Crawl(stored, 240)
    crawl.learner.tick(239)
    assert not crawl.is_learning

    crawl.learn(240)
    crawl.learner.tick(240)

    assert (crawl.models, crawl.troubles) == ([stored / "models"], [])
    assert load_model(stored / "models" / "forum.example").n_learnt() == 1
    assert list(scratch.iterdir()) == []


def test_late_requests_make_the_next_fit_due_sooner(stored: Path):
    """After 4 % more pages instead of 15 %; but not before the first fit, and never twice with the same pages."""
    crawl = Crawl(stored, 240)
    crawl.learner.hasten()
    assert [crawl.learner.is_behind(n) for n in (239, 240)] == [False, True]

    crawl.learner.tick(240)
    assert crawl.learner.is_behind(240)
    crawl.learn(240)
    assert [crawl.learner.is_behind(n) for n in (240, 275, 276)] == [False, False, True]
    crawl.learner.hasten()
    assert [crawl.learner.is_behind(n) for n in (240, 249, 250)] == [False, False, True]
    crawl.learner.close()


def test_a_slow_crawl_learns_more_often(stored: Path):
    """With 4 % more pages, after a pause as long as the last fit; a fast crawl has 15 % more pages by then."""
    crawl = Crawl(stored, 240)
    began = time.monotonic()
    crawl.learn(240)
    ended = time.monotonic()
    crawl.learner.tick(250)
    assert not crawl.is_learning

    while not crawl.is_learning:
        assert time.monotonic() < ended + 600
        crawl.learner.tick(249)
        time.sleep(0.05)
        crawl.learner.tick(250)
    assert time.monotonic() - ended > (ended - began) / 2
    crawl.learner.close()


def test_a_job_reads_texts_before_it_is_asked_to_learn(stored: Path, scratch: Path):
    """The texts are in the database long before the model is due, and are not read again."""
    crawl = Crawl(stored, 1000)
    crawl.learner.tick(200)
    crawl.learner.tick(240)

    with PageStore(stored / "crawl.db") as store:
        wait_until(lambda: not any(True for _ in store.uncleaned_pages()))
    assert not crawl.is_learning
    crawl.learn(1000)

    assert (crawl.models, crawl.troubles) == ([stored / "models"], [])
    crawl.learner.close()  # the next job, which waits
    assert list(scratch.iterdir()) == []


def test_a_job_that_is_killed_while_it_waits_is_replaced(stored: Path, scratch: Path):
    """The waiting job ends without a message, and the next one learns."""
    crawl = Crawl(stored, 240)
    crawl.learner.tick(100)
    assert crawl.learner._job is not None
    crawl.learner._job.process.kill()
    crawl.learner._job.process.wait()
    crawl.learner.tick(100)

    crawl.learn(240)

    assert (crawl.models, crawl.troubles) == ([stored / "models"], [])
    crawl.learner.close()  # the next job, which waits
    assert list(scratch.iterdir()) == []


def test_a_failed_job_is_said_once_and_tried_again_when_there_are_more_pages(tmp_path: Path, scratch: Path):
    """Without a database: one line with the reason and the next try, then silence until that number of pages."""
    crawl = Crawl(tmp_path, 100, database="none.db")

    crawl.learn(250)
    crawl.learn(287)
    [line] = crawl.troubles
    assert line.startswith("Learning after 250 pages failed: there is no crawl database")
    assert line.endswith("The next try is after 288 pages.")

    crawl.learn(288)
    assert len(crawl.troubles) == 2
    assert crawl.models == []
    assert list(scratch.iterdir()) == []


def test_a_killed_job_is_said(tmp_path: Path, scratch: Path):
    """A killed job: the message names the signal, and the job's files are removed."""
    crawl = Crawl(tmp_path)
    crawl.learner.tick(100)
    assert crawl.learner._job is not None
    os.kill(crawl.learner._job.process.pid, signal.SIGKILL)

    crawl.learn(100)

    assert crawl.troubles == [
        "Learning after 100 pages failed: it was killed (signal 9). The next try is after 115 pages."
    ]
    crawl.learner.close()  # the next job, which waits
    assert list(scratch.iterdir()) == []


def test_the_end_of_the_crawl_ends_the_job(tmp_path: Path, scratch: Path):
    """Closing ends a running job silently and leaves nothing; a second close is no error."""
    crawl = Crawl(tmp_path)
    crawl.learner.tick(100)
    assert crawl.learner._job is not None
    process = crawl.learner._job.process

    crawl.learner.close()
    crawl.learner.close()

    assert process.returncode not in (None, 0)  # it was ended before its end
    assert (crawl.models, crawl.troubles) == ([], [])
    assert list(scratch.iterdir()) == []


def test_what_cannot_be_started_is_said(tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch):
    """If no process can be started: a line, and no exception."""
    monkeypatch.setattr(module.sys, "executable", str(tmp_path / "no python"))
    crawl = Crawl(tmp_path)

    crawl.learn(100)

    [line] = crawl.troubles
    assert line.startswith("Learning after 100 pages cannot be started: ")
    assert list(scratch.iterdir()) == []


def test_what_learning_needs_is_known_before_it_starts(monkeypatch: pytest.MonkeyPatch):
    """The missing extra is reported at the start of the crawl, without loading any of it."""
    check_learning()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        ImportError, match=r"needs simhash, which is not installed: pip install 'dedup-crawler\[learn\]'"
    ):
        check_learning()


@pytest.mark.parametrize(
    ("database", "model", "folder"),
    [
        ("sqlite:///crawls/forum.db", None, "crawls/forum.models"),
        ("crawls/forum.db", "models", "models"),
    ],
)
def test_models_go_where_the_user_says_or_beside_the_database(database: str, model: str | None, folder: str):
    """DEDUP_MODEL, or the name of the database with another ending."""
    assert models_folder(database, model) == Path(folder)
