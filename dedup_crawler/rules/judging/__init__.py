"""Judges rules by the pages that they merge: counts, posteriors, beliefs and budgets.

Read ``judge.py`` first, then ``posterior.py``, ``belief.py`` and ``merge_trials.py``. Nothing here proposes a rule.
"""
