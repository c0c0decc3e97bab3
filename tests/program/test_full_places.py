"""Results that cannot be written: one line that names the place, and no partial file."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from command_line import run, told
from dedup_crawler.errors import ModelError
from dedup_crawler.methods import load_model, make_method
from dedup_crawler.pages.records import Page, PageText
from dedup_crawler.pages.store import PageStore
from planted_site import session_ids

if TYPE_CHECKING:
    from collections.abc import Iterator

CRAWL = session_ids()
LOG = b'1.2.3.4 - - [01/Jan/2026:00:00:00 +0000] "GET /a?sid=1 HTTP/1.1" 200 100 "-" "-"\n'
NO_PLACE = {
    "a missing folder": "missing/folder/{}",
    "a file instead of a folder": "file/{}",
    "a name that no folder takes": "n" * 300 + "/{}",
}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model and a labelled crawl."""
    folder = tmp_path_factory.mktemp("work")
    make_method("verified").fit(CRAWL.urls, CRAWL.clusters).save(folder / "model")
    with PageStore(folder / "crawl.db") as store:
        store.add_many(Page(url, content=b"x") for url in CRAWL.urls)
        store.write_texts(PageText(url, "title", None, "page", 1) for url in CRAWL.urls)
        store.write_clusters(dict(zip(CRAWL.urls, CRAWL.clusters, strict=True)))
    (folder / "access.log").write_bytes(LOG)
    return folder


def commands(work: Path, place: Path) -> list[list[str]]:
    """Return every command that writes a file or a folder."""
    model, db = ["--model", str(work / "model")], ["--db", str(work / "crawl.db")]
    return [
        ["export", *model, "--format", "table", "--output", str(place)],
        ["report", *model, *db, "--output", str(place)],
        ["train", "verified", *db, "--model", str(place)],
        ["mine-log", str(work / "access.log"), "--host", "a.example", "--model", str(place)],
        ["import", str(work / "access.log"), "--host", "forum.example", "--db", str(place)],
    ]


def refusal(command: list[str]) -> str:
    """Return the one line with which a command ends."""
    return told(run(*command))


@pytest.mark.parametrize("place", NO_PLACE.values(), ids=NO_PLACE)
def test_a_place_that_is_none_is_named(work: Path, tmp_path: Path, place: str) -> None:
    """Missing folders for a model are created, any other missing folder is refused; nothing is left there."""
    (tmp_path / "file").write_text("something")
    output = tmp_path / place.format("result")
    for command in commands(work, output):
        makes_folders = command[0] in ("train", "mine-log")
        if makes_folders and "missing" in place:
            continue
        assert str(output)[:90] in refusal(command)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "something"


def test_a_folder_or_a_file_in_the_place_stays(work: Path, tmp_path: Path) -> None:
    """A folder is not replaced by a file, nor a file by a folder."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "photo").write_bytes(b"me")
    (tmp_path / "file").write_bytes(b"me")
    for command in commands(work, tmp_path / "folder"):
        assert str(tmp_path / "folder") in refusal(command)
    for command in commands(work, tmp_path / "file")[1:]:
        assert str(tmp_path / "file") in refusal(command)

    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder", "photo"]
    assert (tmp_path / "file").read_bytes() == b"me"


@contextmanager
def full_disk(n_bytes: int) -> Iterator[None]:
    """Limit the size of files."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_leaves_nothing_half_written(work: Path, tmp_path: Path) -> None:
    """The old file or model stays whole, without a partial new one beside it."""
    result = ["--model", str(work / "model"), "--output", str(tmp_path / "result")]
    for command in (["export", "--format", "table", *result], ["report", *result]):
        with full_disk(10):
            said = refusal(command)
        assert f"{tmp_path / 'result'} cannot be written (File too large)" in said
        assert list(tmp_path.iterdir()) == []
    model = make_method("keep-all").fit(CRAWL.urls, CRAWL.clusters)
    model.save(tmp_path / "model")
    with full_disk(10), pytest.raises(ModelError, match="a model that was there stays"):
        make_method("verified").fit(CRAWL.urls, CRAWL.clusters).save(tmp_path / "model")

    assert load_model(tmp_path / "model").digest == model.digest
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_an_export_goes_where_it_is_sent(work: Path, tmp_path: Path) -> None:
    """A link keeps its target, which is replaced in one step; a device is written directly."""
    (tmp_path / "rules").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "rules")

    assert run(*commands(work, tmp_path / "link")[0]).exit_code == 0
    assert run(*commands(work, Path("/dev/null"))[0]).exit_code == 0
    assert "/dev/full cannot be written (No space left on device)" in refusal(commands(work, Path("/dev/full"))[0])
    assert (tmp_path / "link").is_symlink()
    assert "forum.example" in (tmp_path / "rules").read_text()
    assert Path("/dev/null").is_char_device()


@pytest.mark.skipif(not os.geteuid(), reason="the superuser may write everywhere")
def test_a_folder_that_is_read_only_is_named(work: Path, tmp_path: Path) -> None:
    """Without the privileges of root."""
    tmp_path.chmod(0o500)
    for command in commands(work, tmp_path / "result"):
        assert str(tmp_path / "result") in refusal(command)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_results_on_a_full_disk_are_one_line(work: Path, unbuffered: str) -> None:
    """``dedup-crawler canonicalize ... > /dev/full``: one message, whenever the system reports it."""
    line = [sys.executable, "-m", "dedup_crawler", "canonicalize", "--model", str(work / "model"), CRAWL.urls[0]]
    with Path("/dev/full").open("w") as full:
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False)

    assert done.returncode == 1
    assert done.stderr == "dedup-crawler: the output: No space left on device; free some space, or use another place.\n"
