"""Files of seen forms with rows that no crawl has written: one line that names the file, never a traceback."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sqlite3

import pytest

from dedup_crawler.errors import SeenError, SeenUnavailableError
from dedup_crawler.live.seen.protocol import Claim, form_digest
from dedup_crawler.live.seen.sqlite import SQLiteSeenSet

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
CASES.remove(("awaited", "request", "NULL"))  # a request that could not be written down


async def use(path):
    """All that a crawl may ask a set, and an orderly end."""
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
def path(tmp_path):
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
def test_a_value_of_a_wrong_type(path, table, column, wrong):
    """A text where a number belongs, bytes that are no digest, nothing at all: the line says how to go on."""
    connection = sqlite3.connect(path)
    connection.executescript(
        f"CREATE TABLE other AS SELECT * FROM {table}; DROP TABLE {table}; ALTER TABLE other RENAME TO {table};"
        f"UPDATE {table} SET {column} = {wrong}" + (" WHERE key = 'run'" if table == "facts" else "")
    )
    assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() > (0,)
    connection.close()

    with pytest.raises(SeenError) as caught:
        asyncio.run(use(path))

    message = str(caught.value)
    assert message.startswith(str(path))
    assert "delete it" in message
    assert "\n" not in message


@pytest.mark.parametrize("table", TABLES)
def test_a_table_that_is_missing_or_another_one(path, table):
    """So it is without a table, or with one of other columns."""
    for change in (f"ALTER TABLE {table} RENAME COLUMN {TABLES[table][-1]} TO other", f"DROP TABLE {table}"):
        connection = sqlite3.connect(path)
        connection.execute(change)
        connection.close()
        with pytest.raises(SeenError) as caught:
            asyncio.run(use(path))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("table", ["awaited", "substitutes", "owners", "dropped", "facts"])
def test_a_text_that_is_none(path, table):
    """Bytes that are no UTF-8 are found when they are read: then the set cannot be used, or cannot be asked."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(f"UPDATE {table} SET {TABLES[table][-1]} = CAST(x'ff' AS TEXT)")
    connection.close()

    with contextlib.suppress(SeenError):
        asyncio.run(use(path))


def test_bytes_overwritten_anywhere(path):
    """A file with a hole of random bytes is refused in one line, or used."""
    data = path.read_bytes()
    rng = random.Random(0)
    messages = []
    for _ in range(100):
        start = rng.randrange(len(data) - 50)
        path.write_bytes(data[:start] + rng.randbytes(rng.choice([1, 4, 50])) + data[start + 50 :])
        for file in path.parent.glob("dedup.seen-*"):
            file.unlink()
        try:
            asyncio.run(use(path))
        except SeenError as error:
            messages.append(str(error))
    assert messages
    assert not any("\n" in message for message in messages)
