"""The miners of the papers: rewrite rules, decision tree, pattern tree and DUSTER.

Read ``mapped_crawl.py`` first, then ``pairs.py`` and the file of a method; ``selection.py`` ends them all. Our own
method and DustBuster, which reads lists of URLs, do not belong here.
"""
