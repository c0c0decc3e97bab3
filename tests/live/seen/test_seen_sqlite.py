"""The seen set in a file: after kills, foreign, locked, full or damaged files give one line, never a traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import seen_crawl
from dedup_crawler.errors import SeenUnavailableError
from dedup_crawler.live.seen import sqlite
from dedup_crawler.live.seen.protocol import Claim, Standing, at_once, form_digest
from dedup_crawler.live.seen.sqlite_file import N_RUNS
from seen_crawl import N_IN_FLIGHT, form_of, reachable
from seen_file import change, crawled, fails, opened, standings, stop
from seen_sets import A, B


@pytest.fixture
def path(tmp_path):
    return tmp_path / "dedup.seen"


def test_a_crawl_that_is_killed_again_and_again_loses_no_page(path, tmp_path):
    """
    A crawling process is killed 20 times at random moments. At the end each page of a crawl without a filter
    was fetched and is seen, and pages fetched twice were in flight at a kill.
    """
    log, n_kills = tmp_path / "fetched", 20

    subprocess.run([sys.executable, seen_crawl.__file__, path, log, str(n_kills)], check=True, timeout=600)

    good = [form_of(url) for url in log.read_text().split() if not seen_crawl.fails(url)]
    assert set(good) == reachable()
    assert len(good) - len(set(good)) <= n_kills * N_IN_FLIGHT
    seen = {digest for (digest,) in change(path, "SELECT digest FROM seen")}
    assert seen == {form_digest(form) for form in reachable()}
    for table in ("awaited", "substitutes"):
        assert change(path, f"SELECT count(*) FROM {table}") == [(0,)]


def test_links_of_a_page_are_written_with_it(path, tmp_path):
    """A copy of the files at any moment has a processed page only together with the claims for its links."""

    def copy(folder):
        folder.mkdir()
        for file in tmp_path.glob("dedup.seen*"):
            shutil.copy(file, folder)
        left, texts = opened(folder / path.name)
        found = standings(left, Claim(A, 9), Claim(B, 9))
        stop(left, is_clean=False)
        return texts, found

    seen, _ = opened(path)
    at_once(seen.claim([Claim(A, 1, 0, "/a")]))
    seen.flush()
    seen.answered(A)
    at_once(seen.claim([Claim(B, 1, 0, "/b")]))
    at_once(seen.wait(B, "/b?2", 2))
    before = copy(tmp_path / "before")
    seen.processed([A])
    after = copy(tmp_path / "after")
    stop(seen, is_clean=False)

    assert before == (["/a"], [Standing.NEW, Standing.NEW])
    assert after == (["/b"], [Standing.SEEN, Standing.NEW])


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("queue_survives", [True, False])
def test_a_queue_that_survives_a_clean_stop_has_the_requests(path, is_clean, queue_survives):
    """
    After a clean stop with a queue on disk nothing is returned: the owner's request comes from the queue and passes,
    other URLs go on waiting for it. Otherwise everything is returned.
    """
    seen, _ = opened(path)
    at_once(seen.claim([Claim(A, 1, 5, "/a?1")]))
    stop(seen, is_clean=is_clean)
    seen, texts = opened(path, queue_survives=queue_survives)
    (other,) = standings(seen, Claim(A, 2, 0, "/a?2"))
    dropped = at_once(seen.wait(A, "/a?2", 2))
    (owner,) = standings(seen, Claim(A, 1, 5, "/a?1"))
    released = at_once(seen.release(A))
    stop(seen, is_clean=is_clean)

    assert dropped
    if is_clean and queue_survives:
        assert (texts, other, owner, released) == ([], Standing.AWAITED, Standing.NEW, "/a?2")
    else:
        assert (texts, other, owner, released) == (["/a?1"], Standing.NEW, Standing.AWAITED, "/a?1")


def test_runs_are_numbered_and_begin_again(path):
    """The first run number follows the last, and an invalid one counts as none."""

    def run():
        seen, _ = opened(path)
        found = standings(seen, Claim(A, 1))
        seen.processed([A])
        stop(seen)
        return found

    assert run() == [Standing.NEW]
    assert change(path, "SELECT value FROM seen") == [(1 << 32 | 1,)]
    change(path, f"UPDATE facts SET text = '{N_RUNS}' WHERE key = 'run'")
    assert run() == [Standing.OWN_SEEN]  # run 1 again, after 32,767 others
    change(path, "UPDATE facts SET text = '?' WHERE key = 'run'")
    run()


def test_another_process_cannot_use_the_file(path):
    """Two crawls on one file would each drop the other's pages; the second is refused."""
    seen, _ = opened(path)
    with ThreadPoolExecutor() as another:
        assert "another crawl uses it" in another.submit(fails, opened, path).result()
    stop(seen)


def test_the_file_of_another_program_is_left_alone(path):
    """Neither a text, a foreign database nor our own page database is changed."""
    path.write_bytes(b"shopping list\n" * 100)
    assert "give another file" in fails(opened, path)
    assert path.read_bytes() == b"shopping list\n" * 100

    path.unlink()
    change(path, "CREATE TABLE facts (id INTEGER)", "CREATE TABLE seen (digest BLOB)", "PRAGMA user_version = 3")
    before = path.read_bytes()
    assert "another program" in fails(opened, path)
    assert path.read_bytes() == before


def test_a_newer_file_asks_for_an_upgrade(path):
    """The error for a file of another version names both versions, and the file is unchanged."""
    change(crawled(path), "UPDATE facts SET text = '4' WHERE key = 'version'")

    assert "upgrade dedup-crawler" in fails(opened, path)


@pytest.mark.parametrize("place", ["folder", "no folder"])
def test_a_place_for_no_file(tmp_path, place):
    """A folder, or a file in a missing folder: the message says what to give."""
    assert str(tmp_path) in fails(opened, tmp_path if place == "folder" else tmp_path / "missing" / "dedup.seen")


def test_a_damaged_file(path):
    """Bytes overwritten in the middle, or half of the file: one line with the way out."""
    data = crawled(path, n_pages=2_000).read_bytes()
    path.write_bytes(data[:20_000] + os.urandom(20_000) + data[40_000:])
    assert "delete it" in fails(opened, path)

    path.write_bytes(data[: len(data) // 2])
    assert "delete it" in fails(opened, path)


def test_what_is_awaited_is_given_in_the_order_it_was_claimed(path):
    """After a kill the substitutes are as before, for any number of them, even if some forms were answered."""
    seen, _ = opened(path)
    digests = [form_digest(f"/{n}") for n in range(3_000)]
    for start in range(0, len(digests), 500):
        part = range(start, start + 500)
        at_once(seen.claim([Claim(digests[n], 1, 0, f"/{n}") for n in part]))
        seen.processed([digests[n] for n in part if n % 3 == 0])
    at_once(seen.claim([Claim(form_digest("/late"), 1, 0, "/late")]))
    seen.flush()
    stop(seen, is_clean=False)
    left, texts = opened(path)
    found = standings(left, *(Claim(digest, 9) for digest in digests[:3]))
    stop(left, is_clean=False)

    assert texts == [*(f"/{n}" for n in range(3_000) if n % 3), "/late"]
    assert found == [Standing.SEEN, Standing.NEW, Standing.NEW]


def test_the_owners_of_the_forms_seen_last_are_kept(path, monkeypatch):
    """The oldest owners are forgotten, in the file too; a form that is seen again counts as new."""
    monkeypatch.setattr(sqlite, "_N_OWNERS", 100)
    monkeypatch.setattr(sqlite, "_N_FORGOTTEN", 10)
    digests = [form_digest(f"/{n}") for n in range(300)]

    seen, _ = opened(path)
    for n in [*range(150), 0, *range(150, 240)]:
        at_once(seen.release(digests[n]))
        at_once(seen.claim([Claim(digests[n], 1, 0, f"/{n} of {n}")]))
        seen.processed([digests[n]])
    before = [at_once(seen.owner(digest)) for digest in digests]
    stop(seen)
    seen, _ = opened(path)
    after = [at_once(seen.owner(digest)) for digest in digests]
    stop(seen)

    assert before == after
    assert before[0] == "/0 of 0"
    assert all(before[n] == f"/{n} of {n}" for n in range(141, 240))
    assert 100 <= sum(owner is not None for owner in before) <= 110


def test_a_file_that_is_damaged_while_the_crawl_runs(path):
    """A failing look-up raises SeenUnavailableError, so that nothing is dropped."""
    crawled(path)
    in_file = form_digest("/0")

    seen, _ = opened(path)
    seen._file.commit("DROP TABLE seen")
    with pytest.raises(SeenUnavailableError):
        at_once(seen.claim([Claim(in_file, 1)]))
    with pytest.raises(SeenUnavailableError):
        at_once(seen.wait(in_file, "/a", 2))
    seen.processed([in_file])
    stop(seen)


IN_ANOTHER_PROCESS = """
import asyncio, logging, os, resource, signal, sqlite3, sys
from pathlib import Path
import sqlalchemy
from dedup_crawler.errors import SeenError
from dedup_crawler.live.seen import sqlite
from dedup_crawler.live.seen.protocol import Claim, Standing, at_once, form_digest
logging.basicConfig(format="%(levelname)s %(message)s", stream=sys.stdout, level="INFO")
path = Path(sys.argv[1])
"""


def in_another_process(code, path):
    done = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS + code, path], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


FULL_DISK = """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

async def crawl():
    seen = sqlite.SQLiteSeenSet(path)
    await seen.open()
    digests = [form_digest(str(n)) for n in range(6000)]

    def pages(part, expected):
        for digest in part:
            assert at_once(seen.claim([Claim(digest, 1, 0, "r" * 100)]))[0].standing is expected
            seen.answered(digest)
        for start in range(0, len(part), 500):
            seen.processed(part[start : start + 500])

    pages(digests[:1000], Standing.NEW)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
    pages(digests[1000:5000], Standing.NEW)
    others = at_once(seen.claim([Claim(digest, 2) for digest in digests]))
    assert [holder.standing for holder in others] == [Standing.SEEN] * 5000 + [Standing.NEW] * 1000
    assert len(seen) == 6000
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    await seen.close(is_clean=True)
    seen = sqlite.SQLiteSeenSet(path)
    await seen.open()
    print(len(seen), "pages are seen")
    await seen.close(is_clean=True)

asyncio.run(crawl())
"""


def test_a_full_disk_is_said_once_and_the_crawl_goes_on(path):
    """
    The file cannot grow: earlier and later seen forms count, one warning names the file,
    and everything is written once there is space again.
    """
    printed = in_another_process(FULL_DISK, path).splitlines()

    assert [line.partition(" ")[0] for line in printed] == ["WARNING", "INFO", "5000"]
    assert str(path) in printed[0]
    assert "kept in memory" in printed[0]


FULL_DISK_AND_A_FAILURE = """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
A, B = form_digest("/a"), form_digest("/b")

def standing(seen, *claim):
    return at_once(seen.claim([Claim(*claim)]))[0].standing

async def crawl():
    seen = sqlite.SQLiteSeenSet(path)
    await seen.open()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    assert standing(seen, A, 1, 0, "/a?1") is Standing.NEW
    assert await seen.wait(A, "/a?2", 2)
    seen.flush()
    seen.keep_dropped(7, "/d")
    assert await seen.release(A) == "/a?2"
    assert standing(seen, A, 2, 0, "/a?2") is Standing.NEW
    seen.answered(A)
    assert standing(seen, B, 1, 0, "/b") is Standing.NEW
    assert await seen.wait(B, "/b?2", 2)
    seen._next_flush = 0.0
    seen.processed([A])
    assert standing(seen, A, 3) is Standing.SEEN
    assert standing(seen, B, 3) is Standing.AWAITED
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    await seen.close(is_clean=False)
    seen = sqlite.SQLiteSeenSet(path)
    print(await seen.open())
    assert standing(seen, A, 3) is Standing.SEEN
    assert standing(seen, B, 1, 0, "/b") is Standing.NEW
    assert await seen.release(B) == "/b?2"
    await seen.close(is_clean=True)

asyncio.run(crawl())
"""


def test_owners_that_fail_while_the_disk_is_full_are_replaced(path):
    """Nothing can be written: what was claimed, kept and released since then counts, and is written in the end."""
    printed = in_another_process(FULL_DISK_AND_A_FAILURE, path).splitlines()

    assert [line.partition(" ")[0] for line in printed[:2]] == ["WARNING", "INFO"]
    assert printed[2:] == ["['/b', '/d']"]


READ_ONLY = """
sqlalchemy.create_engine("sqlite://").connect().close()  # imports everything
os.chmod(path, 0o444)
os.chmod(path.parent, 0o555)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    asyncio.run(sqlite.SQLiteSeenSet(path).open())
except SeenError as error:
    print(error)
"""


def test_a_file_that_cannot_be_written(tmp_path):
    """A read-only file in a read-only folder is refused at the start, not in mid-crawl."""
    path = crawled(tmp_path / "dedup.seen")
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder.stat().st_uid == os.geteuid():
            folder.chmod(0o755)
    try:
        printed = in_another_process(READ_ONLY, path)
    finally:
        tmp_path.chmod(0o755)

    assert str(path) in printed
    assert "writable" in printed
