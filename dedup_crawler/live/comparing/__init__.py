"""Comparison of two fetched pages, for the tests of a rule.

Read ``same_page.py`` first, then ``site_texts.py``, which learns the text that the pages of a site share. The comparer
itself is in ``evidence/``; ``live/exploration/`` handles the verdicts.
"""
