"""Comparison of two fetched pages, for the tests of a rule.

``same_page.py`` compares, ``owner_pages.py`` keeps pages. The comparer itself is in ``evidence/``, and
``live/exploration/`` handles the verdicts.
"""
