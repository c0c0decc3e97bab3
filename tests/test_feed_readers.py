"""Laws of the readers of feeds: any cutting into chunks, any position to go on from, any rubbish."""

from __future__ import annotations

import json
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl_exports import cdx, cdxj, frog_csv, frog_rows, scrapy_feed
from dedup_crawler.pages.cdx import IndexReader
from dedup_crawler.pages.json_items import ItemReader
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.store import PageStore
from dedup_crawler.pages.tables import TableReader
from dedup_crawler.pages.xml_items import ElementReader
from planted_site import session_ids

CRAWL = session_ids(n_pages=4)
ITEMS = [
    {"url": f"http://a.example/{i}", "body": f'<p class="a\\b">é[{{"]}},\n"{i}"</p>\\', "tags": [1, {"x": "]"}]}
    for i in range(5)
]
FILES = {
    "json": (ItemReader, scrapy_feed("json", ITEMS)),
    "indented json": (ItemReader, scrapy_feed("json", ITEMS, 2)),
    "json in utf-16": (ItemReader, json.dumps(ITEMS).encode("utf-16")),
    "xml": (ElementReader, scrapy_feed("xml", ITEMS)),
    "csv": (TableReader, scrapy_feed("csv", ITEMS)),
    "frog": (TableReader, frog_csv(frog_rows(CRAWL)[:5], title="Internal - All")),
    "frog in utf-16": (TableReader, frog_csv(frog_rows(CRAWL)[:5], encoding="utf-16-le")),
    "cdx": (IndexReader, cdx(CRAWL).encode()),
    "cdxj": (IndexReader, cdxj(CRAWL).encode()),
}


def read(reader, chunks, start=0):
    damages = []
    made = reader(chunks, lambda offset, reason: damages.append((offset, reason)), start)
    return list(made), damages, made


@pytest.mark.parametrize("name", FILES)
@given(size=st.integers(1, 60), start=st.integers(0, 7))
def test_pages_come_out_whatever_the_chunks(name, size, start):
    """Law: any cutting gives the same pages; those before a position are left out, and the position is told."""
    reader, content = FILES[name]
    whole, damages, _ = read(reader, [content])
    pages, _, made = read(reader, [content[i : i + size] for i in range(0, len(content), size)], start)

    n_header_lines = reader is IndexReader and name == "cdx"
    assert damages == []
    assert len(whole) == (len(CRAWL.urls) if reader is IndexReader else 5)
    assert pages == whole[max(start - n_header_lines, 0) :]
    assert made.position == made.n_records


@pytest.mark.parametrize("reader", [ItemReader, ElementReader, TableReader, IndexReader])
@given(rubbish=st.binary(max_size=60), cut=st.integers(0, 400))
def test_no_rubbish_breaks_a_reader(reader, rubbish, cut):
    """Law: whatever stands in a file, the answer is pages and damages, never an exception."""
    name = {ItemReader: "json", ElementReader: "xml", TableReader: "csv", IndexReader: "cdx"}[reader]
    content = FILES[name][1]
    pages, _, _ = read(reader, [content[:cut] + rubbish + content[cut:]])

    assert all(isinstance(page, Page) for page in pages)


def test_an_item_that_is_no_json_costs_itself_alone():
    """The objects around it are read; it is told with its number and place."""
    content = b'[{"url": "http://a/"}, {"url": nothing}, {"url": "http://b/"}]'
    pages, [(offset, reason)], _ = read(ItemReader, [content])

    assert [page.url for page in pages] == ["http://a/", "http://b/"]
    assert content[offset:].startswith(b'{"url": nothing')
    assert reason.startswith("item 2: Expecting value")


def test_an_old_database_takes_digests(tmp_path):
    """A database of the version before, without their table, is read and written as any other."""
    with PageStore(tmp_path / "crawl.db") as store:
        store.add(Page("http://a/", content=b"text"))
    with sqlite3.connect(tmp_path / "crawl.db") as old:
        old.execute("DROP TABLE digests")
    old.close()
    with PageStore(tmp_path / "crawl.db", create=False) as store:
        known = Page("http://b/", digest="md5:12345678", canonical_link="http://c/")
        store.add(known)

        assert list(store.pages()) == [Page("http://a/", content=b"text"), known]
        assert [page.digest for page in store.labelled_pages()] == [None, "md5:12345678"]
