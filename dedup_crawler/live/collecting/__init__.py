"""Storing the pages of a crawl in its database, and reading the pages of earlier crawls.

Read ``collector.py`` first, then ``crawl_database.py``. The tables belong to ``pages/store.py``.
"""
