"""Crawl databases with values of a wrong type: one line that names the column, never an exception."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from dedup_crawler.cli import main
from dedup_crawler.errors import StoreError
from dedup_crawler.pages.records import Page, PageText
from dedup_crawler.pages.store import PageStore

if TYPE_CHECKING:
    from pathlib import Path

URL = "http://forum.example/topic?t={}"
COLUMNS = {
    "pages": (
        *("id", "url", "referrer", "status", "redirect_to", "content_type", "title", "canonical_link"),
        *("main_text", "simhash", "cluster", "fetched_at", "content"),
    ),
    "digests": ("url", "digest"),
    "imports": ("source", "n_records"),
    "meta": ("key", "value"),
}
WRONG = ["text", b"\xff", b"\x28\xb5\x2f\xfd\xe0" + b"\x7f" * 20, None, 1.5, 10**12]


@pytest.fixture(scope="module")
def loose(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A labelled crawl whose tables accept any type."""
    path = tmp_path_factory.mktemp("loose") / "crawl.db"
    with PageStore(path) as store:
        pages = [Page(URL.format(n), content=b"<p>page", fetched_at=1.0, referrer=URL.format(0)) for n in range(8)]
        store.set_import_position("a file", 3)
        store.add_many([*pages, Page(URL.format(8), digest="sha1:A")])
        store.write_texts(PageText(page.url, "title", None, "page", 5) for page in pages)
        store.write_clusters({URL.format(n): n // 2 for n in range(9)})
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for table, columns in COLUMNS.items():
            names = ", ".join(columns)
            connection.execute(f"ALTER TABLE {table} RENAME TO old")
            connection.execute(f"CREATE TABLE {table} ({names})")
            connection.execute(f"INSERT INTO {table} SELECT {names} FROM old")
            connection.execute("DROP TABLE old")
        connection.commit()
    return path


def spoilt(loose: Path, folder: Path, table: str, column: str, value: object, where: str = "1") -> Path:
    """Return a copy with another value in a column of some rows."""
    path = shutil.copy(loose, folder / "spoilt.db")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", [value])
        connection.commit()
    return path


@pytest.mark.parametrize(("table", "column"), [(table, column) for table, its in COLUMNS.items() for column in its])
def test_whatever_a_column_holds_is_read_or_refused(loose: Path, tmp_path: Path, table: str, column: str) -> None:
    """Every value in every column, in the last row or in all: values have the right type, or StoreError is raised."""
    for value in WRONG:
        for where in ("1", f"rowid = (SELECT max(rowid) FROM {table})"):
            path = spoilt(loose, tmp_path, table, column, value, where)
            try:
                read_all(path)
            except StoreError as error:
                refusal = str(error)
                assert len(refusal.splitlines()) == 1


def read_all(path: Path) -> None:
    """Read everything that the commands read, and write a page."""
    with PageStore(path, create=False) as store:
        for page in store.pages():
            assert isinstance(page.content, bytes)
            assert isinstance(page.url + (page.referrer or "") + (page.redirect_to or "") + (page.digest or ""), str)
            assert page.status >= 0
            assert (page.fetched_at or 0) >= 0
        for labelled in store.labelled_pages():
            assert isinstance(labelled.title + labelled.main_text, str)
            assert (labelled.simhash or 0) >= 0
            assert type(labelled.cluster or 0) is int
        for facts in store.page_facts(with_sizes=True):
            assert (facts.n_bytes or 0) >= 0
        assert type(store.import_position("a file")) is int
        assert store.get(URL.format(1)) is None or store.overview().n_pages
        store.add_many([Page(URL.format(n), status=200, content=b"new") for n in range(10)])


@pytest.mark.parametrize(
    "command",
    [("label",), ("train", "verified"), ("evaluate", "--method", "keep-all"), ("report",), ("import", "pages.jsonl")],
)
def test_every_command_says_so_in_one_line(
    loose: Path, tmp_path: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line names the file, the column, the value, and the way out."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pages.jsonl").write_text(json.dumps({"url": URL.format(3), "content": "x", "status": 200}))
    path = spoilt(loose, tmp_path, "pages", "status", "many")

    done = CliRunner().invoke(main, [*command, "--db", str(path)])

    assert done.exit_code == 1
    assert done.stderr.strip() == (
        f"dedup-crawler: {path}: a row has 'many' as its status, which has to be a whole number: "
        "the database is damaged; crawl or import it again into a new file"
    )
