"""The filter inside a live Scrapy crawl.

Read ``middleware.py`` and ``duplicate_filter.py`` first, then ``decisions.py`` (send or drop a request),
``answers.py`` (react to responses and failures) and ``exploration/`` (test the rules). ``seen/`` remembers forms,
``models/`` finds the model of a host, ``learning/`` learns one beside the crawl. ``crawl.py`` holds what they share.
Rule learning itself belongs to ``methods/`` and ``rules/``.
"""
