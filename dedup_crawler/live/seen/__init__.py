"""Seen sets: forms that were seen or are awaited, in memory, in an SQLite file, or in a Redis that crawlers share.

Read `protocol.py` first, which is all that the rest of `live/` knows, then `memory.py`, the whole of it in its
simplest shape, then `sqlite.py` (with its tables and its file) or `redis.py` (with its script and its link);
`opening.py` chooses among them, and `table.py` and `bloom_filter.py` are how digests take little room. What a form is,
which request is dropped and how one is written as text are decided elsewhere: no set knows Scrapy, rules or models.
"""
