"""Seen sets: seen and awaited forms in memory, in an SQLite file, or in a Redis that several crawlers share.

Read `protocol.py` first, the only interface to the rest of `live/`, then `memory.py`, the simplest implementation, then
`sqlite.py` (with its file) or `redis.py` (with its script). No set knows Scrapy, rules or models: forms,
drops and request texts are made elsewhere.
"""
