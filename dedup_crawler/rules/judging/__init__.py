"""Judges rules by the pages that they merge: counts, posteriors, beliefs and budgets.

Read ``judge.py`` first, then ``belief.py``. Nothing here proposes a rule or makes its merge groups.
"""
