"""What the store gives a report: facts without bodies, and scored pairs with what is known of both pages."""

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
    """Of each page URL, status, title, cluster, time; the size is that of the body before the store compressed it."""
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
    """Without them no body is touched, and nothing is invented."""
    assert {each.n_bytes for each in store.page_facts()} == {None}


def test_a_damaged_body_has_no_size(store, tmp_path):
    """The page is there all the same; only its size is not known."""
    store.flush()
    with sqlite3.connect(tmp_path / "crawl.db") as connection:
        connection.execute("UPDATE pages SET content = x'0102030405' WHERE url LIKE '%/2'")
    connection.close()

    assert [each.n_bytes for each in store.page_facts(with_sizes=True)] == [0, 1000, None, 3000, 4000]


def test_pages_go_on_while_somebody_writes(store):
    """A slow reader holds no lock: pages that are added meanwhile come too."""
    facts = store.page_facts(with_sizes=True)
    first = next(facts)
    store.add_many(Page(f"{HOST}/late/{n}") for n in range(1500))

    assert first.url == f"{HOST}/0"
    assert sum(1 for _ in facts) == 4  # of the chunk that was read
    assert sum(1 for _ in store.page_facts()) == 1505


def test_scored_pairs_say_what_both_pages_are(store):
    """Lengths of URLs and texts, and whether the labels say one page; a pair with an unlabelled page is left out."""
    store.write_scores(
        [
            (f"{HOST}/0", f"{HOST}/1", 0.99),
            (f"{HOST}/1", f"{HOST}/2", 0.25),
            (f"{HOST}/1", f"{HOST}/4", 0.5),
            (f"{HOST}/1", f"{HOST}/nowhere", 0.5),
        ]
    )

    pairs = list(store.scored_pairs())

    assert [(each.score, each.is_same) for each in pairs] == [(0.99, True), (0.25, False)]
    assert pairs[0].text_lengths == (0, 4)
    assert pairs[1].text_lengths == (4, 8)
    assert pairs[0].url_lengths == (len(HOST) + 2,) * 2


def test_many_scored_pairs_come_once_each(store):
    """They are read in chunks by number; none is lost between two, none comes twice."""
    store.write_scores([(f"{HOST}/0", f"{HOST}/{n % 4}", n / 5000) for n in range(5000)])

    assert [each.score for each in store.scored_pairs()] == pytest.approx([n / 5000 for n in range(5000)])
