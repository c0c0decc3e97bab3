"""Quality of methods and labels: the metrics of the papers, simulated crawls, and tests of rules on a live site.

Read ``comparison`` (one protocol for all methods) with ``simulated_crawl`` and ``quality``, then ``tables``;
``truth`` judges labels, ``log_mining`` runs DustBuster. Learning belongs to ``methods/``, HTML output to ``report/``.
"""
