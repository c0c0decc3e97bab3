"""The crawl database: pages come back unchanged, despite kills, full disks and foreign files."""

from __future__ import annotations

import contextlib
import random
import signal
import sqlite3
import subprocess
import textwrap
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup_crawler.errors import ForeignDatabaseError, SchemaVersionError, StoreError
from dedup_crawler.pages.records import Page, PageFacts, PageText
from dedup_crawler.pages.store import PageStore
from recordings import PYTHON

any_text = st.text(st.characters(exclude_categories=()), max_size=30)  # NUL and lone surrogates too
any_page = st.builds(
    Page,
    url=any_text,
    status=st.integers(100, 599),
    referrer=st.none() | any_text,
    redirect_to=st.none() | any_text,
    content_type=st.none() | any_text,
    content=st.binary(max_size=300),
    fetched_at=st.none() | st.floats(0, 4e9),
)


def cleaned(text: str | None) -> str | None:
    """Clean a string as documented."""
    return None if text is None else "".join("\ufffd" if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in text)


def numbered(n: int, **fields: object) -> list[Page]:
    return [Page(f"https://a.example/{i}", content=b"page %d" % i, **fields) for i in range(n)]  # type: ignore[arg-type]


def change(db: Path, statement: str, *values: object) -> None:
    """Change a database past the store."""
    with contextlib.closing(sqlite3.connect(db)) as connection, connection:
        connection.execute(statement, values)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "crawl.db"


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, db: Path) -> str:
    return str(db) if request.param == "sqlite" else request.getfixturevalue("postgres").new_database()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(page=any_page)
def test_a_page_is_read_back_as_it_was_written(page: Page):
    """Any status, text and bytes survive; only NUL characters and lone surrogates in strings become U+FFFD."""
    with PageStore("sqlite://") as store:
        store.add(page)
        [read] = store.pages()

        assert read == Page(
            url=cleaned(page.url) or "",
            status=page.status,
            referrer=cleaned(page.referrer),
            redirect_to=cleaned(page.redirect_to),
            content_type=cleaned(page.content_type),
            content=page.content,
            fetched_at=page.fetched_at,
        )
        assert store.get(page.url) == read


def test_pages_are_read_back_from_any_database(location: str):
    """
    URLs of 10,000 characters, with and without a body, are no error; upper case, spaces and composed letters make other
    URLs; characters that databases refuse are replaced; bodies are exact.
    """
    draw = random.Random(0)
    long = "http://a.example/" + "".join(draw.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=10_000))
    odd = ["B", "b", "b ", "b\u200b", "\u00e9", "e\u0301", "%\\'\"\U0001f600", "b c[1]{}|^"]
    found = [
        Page(long, content=b"long"),
        Page(f"{long}2", digest="d" * 10_000),
        *(Page(f"http://a/{rest}", content=bytes(range(256)), fetched_at=1234567890.123456) for rest in odd),
        Page("http://a/body", 599, content=draw.randbytes(20_000_000)),
        Page("http://a/\0\ud800", 404, referrer="\ud800", redirect_to="\0", content_type="\0\udfff"),
    ]
    with PageStore(location) as store:
        assert store.add_many(found) == len(found)
        assert store.add_many(found) == 0
    with PageStore(location, create=False) as store:
        read = list(store.pages())
        assert read[:-1] == found[:-1]
        assert read[-1] == Page("http://a/\ufffd\ufffd", 404, "\ufffd", "\ufffd", "\ufffd\ufffd")
        assert store.get(long) == found[0]
        assert store.get("http://A/b") is None
        assert [page.url for page in store.after(long, 1)] == [f"{long}2"]
        assert [fact.n_bytes for fact in store.page_facts(with_sizes=True)][-2:] == [20_000_000, 0]


def test_the_first_answer_stays_unless_it_was_an_error(db: Path):
    """
    Within a batch and across batches: good over good is ignored, good over error replaces (and the page is to be
    cleaned again), error over error is ignored.
    """
    with PageStore(db) as store:
        store.add_many([Page("u", 503, content=b"busy"), Page("v", 404), Page("w", 200, content=b"first")])
        store.write_texts([PageText("u", "Busy", None, "busy", 1)])
        assert store.add_many([Page("u", 200, content=b"good"), Page("v", 500), Page("w", 200, content=b"second")]) == 0
        store.add_many([Page("x", 500), Page("x", 301, redirect_to="y"), Page("x", 200)])

        answers = {page.url: (page.status, page.content) for page in store.pages()}
        assert answers == {"u": (200, b"good"), "v": (404, b""), "w": (200, b"first"), "x": (301, b"")}
        assert [page.url for page in store.uncleaned_pages()] == ["u", "v", "w", "x"]


def test_pages_come_in_crawl_order(db: Path):
    """Order survives reopening, also for more pages than one read takes."""
    pages = numbered(333)
    with PageStore(db) as store:
        assert store.add_many(reversed(pages)) == 333
        assert len(store) == 333
    with PageStore(db) as store:
        assert list(store.pages()) == pages[::-1]


def test_the_pages_beside_one_come_nearest_first(db: Path):
    """The pages stored just before and after it, at any distance; none for an unknown page."""
    with PageStore(db) as store:
        store.add_many(Page(f"http://a.example/{n}", content=b"%d" % n) for n in range(10))
        assert [page.content for page in store.before("http://a.example/8", 2)] == [b"7", b"6"]
        assert [page.content for page in store.after("http://a.example/8", 2)] == [b"9"]
        assert store.before("http://a.example/none", 2) == store.after("http://a.example/none", 2) == []


def test_a_page_that_was_just_added_can_be_seen(db: Path):
    """A page in the buffer counts as stored."""
    with PageStore(db) as store:
        store.add(Page("u"))
        assert store.get("u") == Page("u")
        assert len(store) == 1
        assert store.get("v") is None


def test_texts_can_be_written_while_pages_are_read(db: Path):
    """
    uncleaned_pages streams while write_texts makes its pages cleaned; fingerprints keep all 64 bits; an empty text
    counts as cleaned.
    """
    fingerprints = [0, 1, 2**63 - 1, 2**63, 2**64 - 1]
    with PageStore(db) as store:
        store.add_many(numbered(250))
        for i, page in enumerate(store.uncleaned_pages()):
            store.write_texts([PageText(page.url, f"t{i}", "c\0", "", fingerprints[i % 5])])
        assert list(store.uncleaned_pages()) == []
        labelled = list(store.labelled_pages())
    assert [page.simhash for page in labelled] == [fingerprints[i % 5] for i in range(250)]
    assert [page.title for page in labelled] == [f"t{i}" for i in range(250)]


def test_facts_come_in_crawl_order(db: Path):
    """
    Status, title, cluster and time of each page, without texts; sizes, of the uncompressed bodies, only where they are
    asked for, and none of a damaged one. A slow reader meets pages that are added meanwhile.
    """
    urls = [f"http://a.example/{n}" for n in range(1003)]
    with PageStore(db) as store:
        store.add_many(Page(url, 302, "r", content=b"x" * 1000 * n, fetched_at=n) for n, url in enumerate(urls[:3]))
        store.write_texts([PageText(urls[0], "title", None, "text", None)])
        store.write_clusters({urls[0]: 7})
        expected = [PageFacts(url, "r", 302, "", None, n, None) for n, url in enumerate(urls[:3])]
        assert list(store.page_facts()) == [replace(expected[0], title="title", cluster=7), *expected[1:]]
        change(db, "UPDATE pages SET content = x'0102030405' WHERE id = 2")
        assert [facts.n_bytes for facts in store.page_facts(with_sizes=True)] == [0, None, 2000]
        store.add_many(map(Page, urls[:-1]))
        facts = store.page_facts()
        next(facts)
        store.add_many([Page(urls[-1])])
        assert [each.url for each in facts] == urls[1:]


def test_clusters_and_scores_replace_the_old_ones(db: Path):
    """A second labelling replaces the first; a failure in between keeps the first."""
    with PageStore(db) as store:
        store.add_many(numbered(3))
        a, b, c = store.urls()
        store.write_clusters({a: 1, b: 1, c: 2})
        store.write_clusters({a: 0, c: 5})
        store.write_scores([(a, b, 0.5)] * 1500)
        store.write_scores([(a, b, 1.0), (b, c, 0.25)])
        with pytest.raises(ZeroDivisionError):
            store.write_scores((a, b, 1 / n) for n in (1, 0))
        assert [page.cluster for page in store.labelled_pages()] == [0, None, 5]
    with contextlib.closing(sqlite3.connect(db)) as connection:
        assert list(connection.execute("SELECT url1, url2, score FROM scores")) == [(a, b, 1.0), (b, c, 0.25)]


def test_writers_in_any_order_neither_fail_nor_wait_for_each_other_for_ever(location: str):
    """Eight stores make the tables and write the same pages, each in an order of its own; no URL is stored twice."""
    failures: list[BaseException] = []

    def write(seed: int) -> None:
        urls = [f"http://a.example/{n}" for n in range(1000)]
        random.Random(seed).shuffle(urls)
        try:
            with PageStore(location) as store:
                store.add_many(Page(url, content=b"x" * 500) for url in urls)
        except StoreError as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    with PageStore(location, create=False) as store:
        assert sorted(store.urls()) == sorted(f"http://a.example/{n}" for n in range(1000))


def test_a_batch_is_written_at_100_pages(db: Path):
    """Another process sees the pages once 100 have come, without a flush."""
    with PageStore(db) as writer, PageStore(db) as reader:
        for page in numbered(99):
            writer.add(page)
        assert len(reader) == 0
        writer.add(Page("last"))
        assert len(reader) == 100


def test_a_killed_crawl_loses_at_most_one_batch(db: Path):
    """
    A real process is killed (SIGKILL) while it adds pages: the database opens, and of the pages reported as
    added at most 100 are missing.
    """
    code = """
        import itertools, sys
        from dedup_crawler.pages.records import Page
        from dedup_crawler.pages.store import PageStore
        store = PageStore(sys.argv[1])
        for i in itertools.count():
            store.add(Page(f"https://a.example/{i}", content=b"x" * 3000))
            print(i, flush=True)
    """
    with subprocess.Popen([*PYTHON, "-c", textwrap.dedent(code), db], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= 1234:
                break
        process.kill()
        added = int(([line, *process.stdout][-1]).split()[0]) + 1
    with PageStore(db, create=False) as store:
        urls = list(store.urls())
        assert added - 100 <= len(urls) <= added + 1
        assert urls == [f"https://a.example/{i}" for i in range(len(urls))]
        assert store.add_many([Page("more")]) == 1


def test_a_full_disk_is_one_line_and_loses_nothing(db: Path):
    """
    A process whose files may not grow beyond 1 MB gets a StoreError that names the database, which others can read
    meanwhile; it keeps the pages, and writes them once there is room.
    """
    code = """
        import os, resource, sys
        from dedup_crawler.errors import StoreError
        from dedup_crawler.pages.records import Page
        from dedup_crawler.pages.store import PageStore
        store = PageStore(sys.argv[1])
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
        n = 0
        try:
            while True:
                n += 1
                store.add(Page(f"https://a.example/{n}", content=os.urandom(20_000)))
        except StoreError as error:
            print(error)
        try:
            store.flush()
        except StoreError as error:
            print("again")
        with PageStore(sys.argv[1], create=False) as other:
            print(len(other))
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        store.close()
        print(n)
    """
    done = subprocess.run(
        [*PYTHON, "-c", textwrap.dedent(code), db], capture_output=True, text=True, check=True, timeout=600
    )
    message, again, n_meanwhile, n_added = done.stdout.splitlines()
    assert str(db) in message
    assert "run this again" in message
    assert again == "again"
    assert int(n_meanwhile) < int(n_added)
    assert done.stderr == ""
    with PageStore(db, create=False) as store:
        assert len(store) == int(n_added)


def test_a_locked_database_says_so(db: Path, monkeypatch: pytest.MonkeyPatch):
    """
    Another process holds the write lock longer than the busy timeout: one line names the problem.
    """
    monkeypatch.setattr("dedup_crawler.pages.database._BUSY_TIMEOUT_S", 0.1)
    with PageStore(db) as store:
        other = sqlite3.connect(db, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        store.add(Page("u"))
        with pytest.raises(StoreError, match=r"crawl\.db: database is locked: another process"):
            store.flush()
        other.execute("ROLLBACK")
        other.close()
        store.flush()
        assert len(store) == 1


def test_a_damaged_body_names_its_page(db: Path):
    """Altered bytes are an error that names the URL, not a wrong page."""
    with PageStore(db) as store:
        store.add(Page("u", content=b"text" * 100))
    change(db, "UPDATE pages SET content = x'28b52ffd00'")
    with PageStore(db) as store, pytest.raises(StoreError, match="body of u is damaged"):
        store.get("u")


def test_a_missing_database_is_not_made_by_a_reader(db: Path):
    """create=False names the file and the way out, and leaves no file behind."""
    with pytest.raises(StoreError, match=r"crawl\.db.*dedup-crawler import"):
        PageStore(db, create=False)
    assert not db.exists()
    db.touch()
    with pytest.raises(StoreError, match="there is no crawl database"):
        PageStore(db, create=False)


@pytest.mark.parametrize("content", [b"hello, I am a text file\n" * 10, b"SQLite format 2\0", b"\0" * 5000])
def test_a_file_that_is_no_database_is_left_alone(db: Path, content: bytes):
    """Text, an old database, zeros: refused by name, and unchanged."""
    db.write_bytes(content)
    with pytest.raises(ForeignDatabaseError, match=r"crawl\.db: file is not a database: give another file"):
        PageStore(db)
    assert db.read_bytes() == content


@pytest.mark.parametrize("table", ["bookmarks (url)", "pages (id, url)", "meta (name)", "meta (key, value)"])
def test_a_database_of_another_program_is_left_alone(db: Path, table: str):
    """Even one with our table names is refused, and unchanged."""
    change(db, f"CREATE TABLE {table}")
    before = db.read_bytes()
    with pytest.raises(ForeignDatabaseError, match="another program"):
        PageStore(db)
    assert db.read_bytes() == before
    assert [path.name for path in db.parent.iterdir()] == ["crawl.db"]


@pytest.mark.parametrize(
    ("version", "way_out"), [("99", "upgrade"), ("0", "into a new file"), ("x", "into a new file")]
)
def test_another_schema_version_says_what_to_do(db: Path, version: str, way_out: str):
    """A newer file needs a newer program, an older one a new import."""
    PageStore(db).close()
    change(db, "UPDATE meta SET value = ? WHERE key = 'schema_version'", version)
    with pytest.raises(SchemaVersionError, match=f"schema version {version}.*{way_out}"):
        PageStore(db)


def test_bad_places_are_named(tmp_path: Path):
    """
    A folder, a file in a missing folder, an unknown kind of database, a driver that is not installed: one line each.
    """
    cases = {
        str(tmp_path): "is a folder",
        str(tmp_path / "no" / "crawl.db"): "there is no folder",
        "nosuch://a/b": "nosuch: give a file, or an address like postgresql",
        "": "is lost at the end: give a file",
        ":memory:": "is lost at the end: give a file",
        "postgresql+pg8000://user:secret@host/db": "install its driver",
    }
    for location, expected in cases.items():
        with pytest.raises(StoreError, match=expected) as caught:
            PageStore(location)
        assert "\n" not in str(caught.value)
        assert "secret" not in str(caught.value)


def test_a_store_that_died_while_it_was_made_can_be_made_again(db: Path):
    """After a kill at any moment of creation the file is empty or complete, and opening it works."""
    code = "import sys; from dedup_crawler.pages.store import PageStore; print(1, flush=True); PageStore(sys.argv[1])"
    for delay in (0.0, 0.005, 0.02, 0.05):
        with subprocess.Popen([*PYTHON, "-c", code, db], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            try:
                process.wait(delay)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
        with PageStore(db) as store:
            assert len(store) == 0
        for path in db.parent.iterdir():
            path.unlink()


def test_a_database_that_others_open_and_close_can_still_be_written(db: Path):
    """
    A crawl writes; the same process opens the database again, as a resuming filter does; then another
    process reads it, as a learning one does. None of them removes the journal: later writes are there.
    """
    code = "import sys; from dedup_crawler.pages.store import PageStore; PageStore(sys.argv[1], create=False).close()"
    with PageStore(db) as store:
        store.add_many(numbered(3))
        store.flush()
        with PageStore(db, create=False) as second:
            assert len(second) == 3
        subprocess.run([*PYTHON, "-c", code, db], check=True)
        store.add_many(numbered(5))
        store.flush()
        with PageStore(db, create=False) as third:
            assert len(third) == 5
    with PageStore(db, create=False) as store:
        assert len(store) == 5
