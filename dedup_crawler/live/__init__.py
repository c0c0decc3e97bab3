"""The filter inside a live Scrapy crawl.

Read ``middleware.py`` and ``duplicate_filter.py`` first, then ``decisions.py`` (send or drop a request),
``answers.py`` (react to responses and failures) and ``exploration/`` (test the rules). ``seen/`` remembers forms,
``models/`` finds the model of a host, or learns one beside the crawl. ``crawl.py`` holds what they share;
``drop_report.py`` and ``summary.py`` tell the user. Rule learning itself belongs to ``methods/`` and ``rules/``.
"""
