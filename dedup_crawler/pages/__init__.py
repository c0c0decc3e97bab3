"""Crawled pages: the store, imports into it, and a recording as a live site.

Read `records.py` first. The store: `store.py` (the interface), `tables.py` (rows), `database.py` (opening, errors).
Imports: `imports.py` chooses a reader for each file, `warc.py` and `warc_pages.py` read recordings, `items.py` JSON and
CSV, `logs.py` access logs. A reader turns chunks of bytes into pages and reports damage; it does not write to the
store. `fetcher.py` is for `mine-log`. Pages are compared in `labels/` and `evidence/`.
"""
