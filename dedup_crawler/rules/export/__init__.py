"""Rules in the formats of other programs: exactly, or more cautiously, or not at all.

Read ``model_rules.py`` first, then ``discarder.py``. Rules of other programs that are read belong to ``static_rules/``.
"""
