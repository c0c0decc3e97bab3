"""Facts from the store for a report, without bodies."""

import sqlite3

import pytest

from dedup_crawler.pages.records import Page, PageText
from dedup_crawler.pages.store import PageStore

HOST = "http://forum.example"


@pytest.fixture
def store(tmp_path):
    with PageStore(tmp_path / "crawl.db") as made:
        made.add_many(
            Page(
                f"{HOST}/{n}",
                302 if n == 3 else 200,
                referrer=f"{HOST}/" if n else None,
                content=b"x" * n * 1000,
                fetched_at=100.0 + n,
            )
            for n in range(5)
        )
        made.write_texts(PageText(f"{HOST}/{n}", f"title {n}", None, "text" * n, None) for n in range(4))
        made.write_clusters({f"{HOST}/{n}": n // 2 for n in range(4)})
        yield made


def test_facts_come_in_crawl_order_with_the_size_as_received(store):
    """URL, status, title, cluster and time of each page; the size is that of the uncompressed body."""
    facts = list(store.page_facts(with_sizes=True))

    assert [each.url for each in facts] == list(store.urls())
    assert (
        [each.n_bytes for each in facts] == [len(page.content) for page in store.pages()] == [0, 1000, 2000, 3000, 4000]
    )
    assert [each.cluster for each in facts] == [0, 0, 1, 1, None]
    assert [each.title for each in facts] == ["title 0", "title 1", "title 2", "title 3", ""]
    assert (facts[3].status, facts[0].referrer, facts[1].referrer, facts[4].fetched_at) == (
        302,
        None,
        f"{HOST}/",
        104.0,
    )


def test_sizes_are_read_where_they_are_asked_for(store):
    """Without them no body is read, and no size is invented."""
    assert {each.n_bytes for each in store.page_facts()} == {None}


def test_a_damaged_body_has_no_size(store, tmp_path):
    """The page is reported; only its size is unknown."""
    store.flush()
    with sqlite3.connect(tmp_path / "crawl.db") as connection:
        connection.execute("UPDATE pages SET content = x'0102030405' WHERE url LIKE '%/2'")
    connection.close()

    assert [each.n_bytes for each in store.page_facts(with_sizes=True)] == [0, 1000, None, 3000, 4000]


def test_pages_go_on_while_somebody_writes(store):
    """A slow reader holds no lock: pages added meanwhile come too."""
    facts = store.page_facts(with_sizes=True)
    first = next(facts)
    store.add_many(Page(f"{HOST}/late/{n}") for n in range(1500))

    assert first.url == f"{HOST}/0"
    assert sum(1 for _ in facts) == 4  # of the chunk already read
    assert sum(1 for _ in store.page_facts()) == 1505
