"""The filter inside of a live Scrapy crawl.

Read ``middleware.py`` and ``duplicate_filter.py`` first, then ``decisions.py`` (a request passes or is dropped),
``answers.py`` (a page came, or did not) and ``exploration/`` (rules are tested); ``seen/`` remembers forms, ``models/``
finds the model of a host, ``learning/`` learns one beside the crawl. How rules are learnt belongs to ``methods/`` and
``rules/``.
"""
