"""Classifiers of pairs of URLs, turned into canonicalizers.

Read ``classifier`` first, then ``url_pairs`` (the pairs it learns from, and those it asks about), then the two methods,
``siamese`` and ``random_forest``. The networks are in ``networks/``.
"""
