"""Pages of a crawl on their way into its database, and those that it holds already.

Read ``collector.py`` first, then ``recorder.py`` and ``seeding.py``. The tables belong to ``pages/store/``.
"""
