"""Judges rules by the pages that they merge: counts, posteriors, beliefs and budgets.

Read ``belief.py`` first. Nothing here proposes a rule or makes its merge groups.
"""
