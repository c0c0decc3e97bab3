"""Quality of methods and labels: the metrics of the papers, simulated crawls, and rules tried on a live site.

Read ``comparison`` (one protocol for all methods) with ``simulated_crawl`` and ``normalization``, then ``tables``;
``truth`` judges labels, ``pair_quality`` answers about pairs, ``log_mining`` is DustBuster's.
What is learnt belongs to ``methods/``, how results look in a browser to ``report/``.
"""
