"""The crawl database: pages go in as they come, and come out in crawl order with what was found out about them.

Read `page_store.py` first (what others use), then `batches.py` (how pages are written), `rows.py` and `schema.py` (how
they lie in the tables), `database.py` (opening, transactions, errors). No SQL stands outside of this
folder, and nothing in here knows where pages come from or what they are compared for.
"""

from dedup_crawler.pages.store.page_store import PageStore

__all__ = ["PageStore"]
