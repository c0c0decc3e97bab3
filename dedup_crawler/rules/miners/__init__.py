"""The miners of the papers: rewrite rules, decision tree, pattern tree and DUSTER.

Read ``mapped_crawl.py`` first, then the file of a method. ``selection.py`` is the last step of each.
Our own method is in ``learning/``, DustBuster in ``dust/``.
"""
