"""The report: one HTML file about a crawl, its models, a comparison and a live crawl.

Read ``making`` first (it reads the sources), then ``page`` (it makes the HTML). ``crawl_facts``, ``model_facts``
and ``drops`` count, ``figures`` draws. Metrics are defined in ``evaluation/``.
"""
