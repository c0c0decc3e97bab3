"""Learns the rules of our own method from a crawl.

Read ``host_crawl.py`` first, then ``columns.py``, ``hypotheses.py``, ``trials.py`` and ``contexts.py``. The miners of
the papers are in ``miners/``.
"""
