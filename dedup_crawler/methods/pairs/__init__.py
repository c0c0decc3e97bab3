"""Methods that decide on pairs of URLs, and what makes a canonicalizer of them.

Read ``classifier`` first, then where its pairs come from (``labelled``, ``known_urls``), then the two
methods, ``siamese`` (with ``reading``) and ``random_forest``. The networks themselves are in ``networks/``.
"""
