"""Writes rules in the formats of other programs. A rule that a format cannot express is narrowed or left out.

Read ``model_rules.py`` first, then ``discarder.py``. ``static_rules/`` reads the rules of other programs.
"""
