"""Comparison of two fetched pages, for the tests of a rule.

Read ``same_page.py`` first, then ``learnt_comparison.py``, which asks the model where the pages differ. What comes of a
verdict belongs to ``live/exploration/``.
"""
