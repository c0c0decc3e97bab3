"""Crawled pages: the store, imports into it, and a recording as a live site.

Read `records.py` first, then `store/`, `imports/` and `serving.py`. `logs.py` and `fetcher.py` are for `mine-log`.
Pages are compared in `labels/` and `evidence/`.
"""
