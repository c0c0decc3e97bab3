"""A seen file with wrong values, tables or bytes gives one line, never a traceback."""

from __future__ import annotations

import contextlib
import random

import pytest

from dedup_crawler.errors import SeenError, SeenUnavailableError
from dedup_crawler.live.seen.protocol import Claim, at_once, form_digest
from seen_file import change, fails, opened, stop

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


def use(path):
    """Use all methods of a set, and close it."""
    seen, _ = opened(path)
    for digest in FORMS:
        with contextlib.suppress(SeenUnavailableError):
            at_once(seen.claim([Claim(digest, 9, 0, "/9")]))
            at_once(seen.wait(digest, "/8", 8))
            for ask in (seen.owner, seen.release, seen.release):
                at_once(ask(digest))
    seen.processed(FORMS[:2])
    for ask in (seen.abandoned, seen.abandoned, seen.clear):
        with contextlib.suppress(SeenUnavailableError):
            at_once(ask())
    stop(seen)


@pytest.fixture
def full(tmp_path):
    """A file with a row in each table."""
    path = tmp_path / "dedup.seen"
    seen, _ = opened(path)
    at_once(seen.claim([Claim(digest, 1, 0, f"/{n}") for n, digest in enumerate(FORMS[:3])]))
    for digest in FORMS[:2]:
        at_once(seen.wait(digest, "/7", 7))
        at_once(seen.wait(digest, "/6", 6))
    at_once(seen.release(FORMS[1]))
    seen.keep_dropped(5, "/5")
    seen.processed([FORMS[2]])
    stop(seen, is_clean=False)
    return path


@pytest.mark.parametrize(("table", "column", "wrong"), CASES)
def test_a_value_of_a_wrong_type(full, table, column, wrong):
    """A text in place of a number, bytes that are no digest, a missing value: the line has the way out."""
    changed = change(
        full,
        f"CREATE TABLE other AS SELECT * FROM {table}",
        f"DROP TABLE {table}",
        f"ALTER TABLE other RENAME TO {table}",
        f"UPDATE {table} SET {column} = {wrong}" + (" WHERE key = 'run'" if table == "facts" else ""),
        f"SELECT * FROM {table}",
    )
    assert changed

    message = fails(use, full)

    assert message.startswith(str(full))
    assert "delete it" in message


@pytest.mark.parametrize("table", TABLES)
def test_a_table_that_is_missing_or_another_one(full, table):
    """The same without a table, or with other columns."""
    for statement in (f"ALTER TABLE {table} RENAME COLUMN {TABLES[table][-1]} TO other", f"DROP TABLE {table}"):
        change(full, statement)
        fails(use, full)


@pytest.mark.parametrize("table", ["awaited", "substitutes", "owners", "dropped", "facts"])
def test_a_text_that_is_none(full, table):
    """Invalid UTF-8 is found when it is read: then the set cannot be opened, or is unavailable."""
    change(full, f"UPDATE {table} SET {TABLES[table][-1]} = CAST(x'ff' AS TEXT)")

    with contextlib.suppress(SeenError):
        use(full)


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
            use(full)
        except SeenError as error:
            messages.append(str(error))
    assert messages
    assert not any("\n" in message for message in messages)
