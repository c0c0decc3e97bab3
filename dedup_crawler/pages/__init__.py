"""Crawled pages: files into the store, the store itself, and a recording as a live site.

Read `records.py` first (what a page is), then `store/`, `imports/` and `serving/`; `logs/` and `fetcher.py` serve
`mine-log`, and the other files read bytes and lines for all of them. What pages say, and which of them are the same,
belongs to `labels/` and `evidence/`.
"""
