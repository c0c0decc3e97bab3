"""Quality of methods and labels: the metrics of the papers, simulated crawls, and tests of rules on a live site.

Read ``comparison`` (one protocol for all methods, and its tables) with ``simulated_crawl`` and ``quality``;
``log_mining`` runs DustBuster. Learning belongs to ``methods/``, HTML output to ``report/``.
"""
