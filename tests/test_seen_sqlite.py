"""The seen set in a file: after kills, foreign, locked, full or damaged files give one line, never a traceback."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from dedup_crawler.errors import SeenError, SeenUnavailableError
from dedup_crawler.live.at_once import at_once
from dedup_crawler.live.seen import sqlite_tables
from dedup_crawler.live.seen.protocol import Claim, Standing, form_digest
from dedup_crawler.live.seen.sqlite import SQLiteSeenSet
from dedup_crawler.live.seen.table import N_RUNS, pack
from seen_crawl import N_IN_FLIGHT, fails, form_of, reachable

HERE = Path(__file__).resolve().parent
A, B = form_digest("/a"), form_digest("/b")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "dedup.seen"


def crawled(path, n_pages=1):
    """Return the file of a finished crawl."""

    async def crawl():
        seen = SQLiteSeenSet(path)
        await seen.open()
        digests = [form_digest(f"/{n}") for n in range(n_pages)]
        at_once(seen.claim([Claim(digest, 1, 0, "request") for digest in digests]))
        seen.processed(digests)
        await seen.close(is_clean=True)

    asyncio.run(crawl())
    return path


def open_fails(path):
    """Return the message for the user: one line."""
    with pytest.raises(SeenError) as caught:
        asyncio.run(SQLiteSeenSet(path).open())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_crawl_that_is_killed_again_and_again_loses_no_page(path, tmp_path):
    """
    A crawling process is killed 20 times at random moments. At the end each page of a crawl without a filter
    was fetched and is seen, and pages fetched twice were in flight at a kill.
    """
    log, n_kills = tmp_path / "fetched", 20

    subprocess.run([sys.executable, HERE / "seen_crawl.py", path, log, str(n_kills)], check=True, timeout=600)

    good = [form_of(url) for url in log.read_text().split() if not fails(url)]
    assert set(good) == reachable()
    assert len(good) - len(set(good)) <= n_kills * N_IN_FLIGHT
    with sqlite3.connect(path) as connection:
        seen = {digest for (digest,) in connection.execute("SELECT digest FROM seen")}
        assert seen == {form_digest(form) for form in reachable()}
        for table in ("awaited", "substitutes"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    connection.close()


def test_links_of_a_page_are_written_with_it(path, tmp_path):
    """A copy of the files at any moment has a processed page only together with the claims for its links."""

    async def crawl():
        seen = SQLiteSeenSet(path)
        await seen.open()
        at_once(seen.claim([Claim(A, 1, 0, "/a")]))
        seen.flush()
        seen.answered(A)
        at_once(seen.claim([Claim(B, 1, 0, "/b")]))
        await seen.wait(B, "/b?2", 2)
        before = await copy(tmp_path / "before")
        seen.processed([A])
        after = await copy(tmp_path / "after")
        await seen.close(is_clean=False)
        return before, after

    async def copy(folder):
        folder.mkdir()
        for file in tmp_path.glob("dedup.seen*"):
            shutil.copy(file, folder)
        left = SQLiteSeenSet(folder / path.name)
        texts = await left.open()
        standings = [holder.standing for holder in at_once(left.claim([Claim(A, 9), Claim(B, 9)]))]
        await left.close(is_clean=False)
        return texts, standings

    before, after = asyncio.run(crawl())

    assert before == (["/a"], [Standing.NEW, Standing.NEW])
    assert after == (["/b"], [Standing.SEEN, Standing.NEW])


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("queue_survives", [True, False])
def test_a_queue_that_survives_a_clean_stop_has_the_requests(path, is_clean, queue_survives):
    """
    After a clean stop with a queue on disk nothing is returned: the owner's request comes from the queue and passes,
    other URLs go on waiting for it. Otherwise everything is returned.
    """

    async def crawl():
        seen = SQLiteSeenSet(path)
        await seen.open()
        at_once(seen.claim([Claim(A, 1, 5, "/a?1")]))
        await seen.close(is_clean=is_clean)
        seen = SQLiteSeenSet(path)
        texts = await seen.open(queue_survives=queue_survives)
        other = at_once(seen.claim([Claim(A, 2, 0, "/a?2")]))[0].standing
        dropped = await seen.wait(A, "/a?2", 2)
        owner = at_once(seen.claim([Claim(A, 1, 5, "/a?1")]))[0].standing
        released = await seen.release(A)
        await seen.close(is_clean=is_clean)
        return texts, other, dropped, owner, released

    texts, other, dropped, owner, released = asyncio.run(crawl())

    assert dropped
    if is_clean and queue_survives:
        assert (texts, other, owner, released) == ([], Standing.AWAITED, Standing.NEW, "/a?2")
    else:
        assert (texts, other, owner, released) == (["/a?1"], Standing.NEW, Standing.AWAITED, "/a?1")


def test_runs_are_numbered_and_begin_again(path):
    """The first run number follows the last, and an invalid one counts as none."""

    async def run():
        seen = SQLiteSeenSet(path)
        await seen.open()
        standing = at_once(seen.claim([Claim(A, 1)]))[0].standing
        seen.processed([A])
        await seen.close(is_clean=True)
        return standing

    def value():
        connection = sqlite3.connect(path)
        found = connection.execute("SELECT value FROM seen").fetchone()[0]
        with connection:
            connection.execute("UPDATE facts SET text = ? WHERE key = 'run'", [next_run])
        connection.close()
        return found

    next_run = str(N_RUNS)
    assert asyncio.run(run()) is Standing.NEW
    assert value() == pack(1, 0, 1)
    assert asyncio.run(run()) is Standing.OWN  # run 1 again, after 32,767 others
    next_run = "?"
    value()
    asyncio.run(run())


def test_another_process_cannot_use_the_file(path):
    """Two crawls on one file would each drop the other's pages; the second is refused."""

    async def open_twice():
        seen = SQLiteSeenSet(path)
        await seen.open()
        message = await asyncio.to_thread(open_fails, path)
        await seen.close(is_clean=True)
        return message

    assert "another crawl uses it" in asyncio.run(open_twice())


def test_the_file_of_another_program_is_left_alone(path):
    """Neither a text, a foreign database nor our own page database is changed."""
    path.write_bytes(b"shopping list\n" * 100)
    assert "give another file" in open_fails(path)
    assert path.read_bytes() == b"shopping list\n" * 100

    path.unlink()
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE facts (id INTEGER); CREATE TABLE seen (digest BLOB); PRAGMA user_version = 3"
    )
    connection.close()
    before = path.read_bytes()
    assert "another program" in open_fails(path)
    assert path.read_bytes() == before


def test_a_newer_file_asks_for_an_upgrade(path):
    """The error for a file of another version names both versions, and the file is unchanged."""
    connection = sqlite3.connect(crawled(path))
    with connection:
        connection.execute("UPDATE facts SET text = '4' WHERE key = 'version'")
    connection.close()

    assert "upgrade dedup-crawler" in open_fails(path)


@pytest.mark.parametrize("place", ["folder", "no folder"])
def test_a_place_for_no_file(tmp_path, place):
    """A folder, or a file in a missing folder: the message says what to give."""
    assert str(tmp_path) in open_fails(tmp_path if place == "folder" else tmp_path / "missing" / "dedup.seen")


def test_a_damaged_file(path):
    """Bytes overwritten in the middle, or half of the file: one line with the way out."""
    data = crawled(path, n_pages=2_000).read_bytes()
    path.write_bytes(data[:20_000] + os.urandom(20_000) + data[40_000:])
    assert "delete it" in open_fails(path)

    path.write_bytes(data[: len(data) // 2])
    assert "delete it" in open_fails(path)


def test_what_is_awaited_is_given_in_the_order_it_was_claimed(path):
    """After a kill the substitutes are as before, for any number of them, even if some forms were answered."""

    async def crawl():
        seen = SQLiteSeenSet(path)
        await seen.open()
        digests = [form_digest(f"/{n}") for n in range(3_000)]
        for start in range(0, len(digests), 500):
            part = range(start, start + 500)
            await seen.claim([Claim(digests[n], 1, 0, f"/{n}") for n in part])
            seen.processed([digests[n] for n in part if n % 3 == 0])
        await seen.claim([Claim(form_digest("/late"), 1, 0, "/late")])
        seen.flush()
        await seen.close(is_clean=False)
        left = SQLiteSeenSet(path)
        texts = await left.open()
        standings = [holder.standing for holder in await left.claim([Claim(digest, 9) for digest in digests[:3]])]
        await left.close(is_clean=False)
        return texts, standings

    texts, standings = asyncio.run(crawl())

    assert texts == [*(f"/{n}" for n in range(3_000) if n % 3), "/late"]
    assert standings == [Standing.SEEN, Standing.NEW, Standing.NEW]


def test_the_owners_of_the_forms_seen_last_are_kept(path, monkeypatch):
    """The oldest owners are forgotten, in the file too; a form that is seen again counts as new."""
    monkeypatch.setattr(sqlite_tables, "N_OWNERS", 100)
    monkeypatch.setattr(sqlite_tables, "_N_FORGOTTEN", 10)
    digests = [form_digest(f"/{n}") for n in range(300)]

    async def crawl():
        seen = SQLiteSeenSet(path)
        await seen.open()
        for n in [*range(150), 0, *range(150, 240)]:
            await seen.release(digests[n])
            await seen.claim([Claim(digests[n], 1, 0, f"/{n} of {n}")])
            seen.processed([digests[n]])
        before = [await seen.owner(digest) for digest in digests]
        await seen.close(is_clean=True)
        seen = SQLiteSeenSet(path)
        await seen.open()
        after = [await seen.owner(digest) for digest in digests]
        await seen.close(is_clean=True)
        return before, after

    before, after = asyncio.run(crawl())

    assert before == after
    assert before[0] == "/0 of 0"
    assert all(before[n] == f"/{n} of {n}" for n in range(141, 240))
    assert 100 <= sum(owner is not None for owner in before) <= 110


def test_a_file_that_is_damaged_while_the_crawl_runs(path):
    """A failing look-up raises SeenUnavailableError, so that nothing is dropped."""
    crawled(path)
    in_file = form_digest("/0")

    async def crawl():
        seen = SQLiteSeenSet(path)
        await seen.open()
        seen._file.write([("DROP TABLE seen", [()])])
        with pytest.raises(SeenUnavailableError):
            await seen.claim([Claim(in_file, 1)])
        with pytest.raises(SeenUnavailableError):
            await seen.wait(in_file, "/a", 2)
        seen.processed([in_file])
        await seen.close(is_clean=True)

    asyncio.run(crawl())


IN_ANOTHER_PROCESS = """
import asyncio, logging, os, resource, signal, sqlite3, sys
from pathlib import Path
import sqlalchemy
from dedup_crawler.errors import SeenError
from dedup_crawler.live.at_once import at_once
from dedup_crawler.live.seen import sqlite
from dedup_crawler.live.seen.protocol import Claim, Standing, form_digest
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


FORMS = [form_digest(f"/{n}") for n in range(4)]
TABLES = {
    "seen": ("digest", "value"),
    "awaited": ("place", "digest", "value", "tag", "request"),
    "substitutes": ("place", "digest", "tag", "request"),
    "owners": ("place", "digest", "request"),
    "dropped": ("place", "digest", "rules", "request"),
    "facts": ("key", "text"),
}
WRONG = {
    "digest": ("'16 letters: text'", "x'00ff'", "NULL", "7"),
    "value": ("'text'", "x'00'", "NULL", "1.5", "-1", "1 << 60"),
    "place": ("'text'", "NULL", "0", "1 << 60"),
    "tag": ("'text'", "NULL", "-1", "1 << 32"),
    "rules": ("'text'", "NULL", "-1", "65536"),
    "request": ("x'00ff'", "NULL"),
    "key": ("x'00ff'", "NULL"),
    "text": ("x'00ff'", "NULL"),
}
CASES = [(table, column, wrong) for table, columns in TABLES.items() for column in columns for wrong in WRONG[column]]
CASES.remove(("awaited", "request", "NULL"))  # a request without a text


async def use(path):
    """Use all methods of a set, and close it."""
    seen = SQLiteSeenSet(path)
    await seen.open()
    for digest in FORMS:
        with contextlib.suppress(SeenUnavailableError):
            await seen.claim([Claim(digest, 9, 0, "/9")])
            await seen.wait(digest, "/8", 8)
            await seen.owner(digest)
            await seen.release(digest)
            await seen.release(digest)
    seen.processed(FORMS[:2])
    for ask in (seen.abandoned, seen.abandoned, seen.clear):
        with contextlib.suppress(SeenUnavailableError):
            await ask()
    await seen.close(is_clean=True)


@pytest.fixture
def full(tmp_path):
    """A file with a row in each table."""

    async def crawl():
        seen = SQLiteSeenSet(tmp_path / "dedup.seen")
        await seen.open()
        await seen.claim([Claim(digest, 1, 0, f"/{n}") for n, digest in enumerate(FORMS[:3])])
        for digest in FORMS[:2]:
            await seen.wait(digest, "/7", 7)
            await seen.wait(digest, "/6", 6)
        await seen.release(FORMS[1])
        seen.keep_dropped(5, "/5")
        seen.processed([FORMS[2]])
        await seen.close(is_clean=False)

    asyncio.run(crawl())
    return tmp_path / "dedup.seen"


@pytest.mark.parametrize(("table", "column", "wrong"), CASES)
def test_a_value_of_a_wrong_type(full, table, column, wrong):
    """A text in place of a number, bytes that are no digest, a missing value: the line has the way out."""
    connection = sqlite3.connect(full)
    connection.executescript(
        f"CREATE TABLE other AS SELECT * FROM {table}; DROP TABLE {table}; ALTER TABLE other RENAME TO {table};"
        f"UPDATE {table} SET {column} = {wrong}" + (" WHERE key = 'run'" if table == "facts" else "")
    )
    assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() > (0,)
    connection.close()

    with pytest.raises(SeenError) as caught:
        asyncio.run(use(full))

    message = str(caught.value)
    assert message.startswith(str(full))
    assert "delete it" in message
    assert "\n" not in message


@pytest.mark.parametrize("table", TABLES)
def test_a_table_that_is_missing_or_another_one(full, table):
    """The same without a table, or with other columns."""
    for change in (f"ALTER TABLE {table} RENAME COLUMN {TABLES[table][-1]} TO other", f"DROP TABLE {table}"):
        connection = sqlite3.connect(full)
        connection.execute(change)
        connection.close()
        with pytest.raises(SeenError) as caught:
            asyncio.run(use(full))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("table", ["awaited", "substitutes", "owners", "dropped", "facts"])
def test_a_text_that_is_none(full, table):
    """Invalid UTF-8 is found when it is read: then the set cannot be opened, or is unavailable."""
    connection = sqlite3.connect(full)
    with connection:
        connection.execute(f"UPDATE {table} SET {TABLES[table][-1]} = CAST(x'ff' AS TEXT)")
    connection.close()

    with contextlib.suppress(SeenError):
        asyncio.run(use(full))


def test_bytes_overwritten_anywhere(full):
    """A file with random bytes in it is refused in one line, or works."""
    data = full.read_bytes()
    rng = random.Random(0)
    messages = []
    for _ in range(100):
        start = rng.randrange(len(data) - 50)
        full.write_bytes(data[:start] + rng.randbytes(rng.choice([1, 4, 50])) + data[start + 50 :])
        for file in full.parent.glob("dedup.seen-*"):
            file.unlink()
        try:
            asyncio.run(use(full))
        except SeenError as error:
            messages.append(str(error))
    assert messages
    assert not any("\n" in message for message in messages)
