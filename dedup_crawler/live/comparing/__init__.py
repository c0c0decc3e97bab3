"""Comparison of two fetched pages, for the tests of a rule.

Read ``same_page.py`` first, then ``site_texts.py``, which reads what the pages of a site share. The comparer itself is
in ``evidence/``, and what comes of a verdict belongs to ``live/exploration/``.
"""
