"""The report: one HTML file about a crawl, its models, a comparison and a live crawl.

Read ``making`` (what is read and in which order), then ``page`` (what is shown); ``crawl_facts``, ``patterns``,
``model_facts`` and ``drops`` count, ``figures`` draws, ``text`` makes strings of strangers fit to
show. No metric is defined here: those are in ``evaluation/``.
"""
