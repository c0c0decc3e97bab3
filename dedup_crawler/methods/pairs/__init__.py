"""Classifiers of pairs of URLs, turned into canonicalizers.

Read ``classifier`` first, then the sources of its pairs (``labelled``, ``known_urls``), then the two methods,
``siamese`` (with ``pair_input``) and ``random_forest``. The networks are in ``networks/``.
"""
