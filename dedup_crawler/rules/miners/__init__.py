"""The miners of the papers: rewrite rules, decision tree, pattern tree, DUSTER and DustBuster.

Read ``mapped_crawl.py`` first, then the file of a method; ``selection.py`` is the last step of each. DustBuster is in
``url_list.py``, ``dust.py`` and ``substrings.py``. Our own method is in ``learning/``.
"""
