"""The crawl database: pages in crawl order, with their texts and labels.

Read `page_store.py` first (the interface), then `batches.py` (writing pages), `rows.py` and `schema.py` (the tables)
and `database.py` (opening, transactions, errors). Nothing here knows where pages come from.
"""

from dedup_crawler.pages.store.page_store import PageStore

__all__ = ["PageStore"]
