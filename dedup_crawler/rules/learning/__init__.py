"""Learns the rules of our own method from a crawl.

Read ``host_crawl.py`` first, then ``columns.py``, ``hypotheses.py`` (with ``proposers.py``), ``trials.py`` and
``contexts.py``; ``belief.py`` decides. The miners of the papers are in ``miners/``.
"""
