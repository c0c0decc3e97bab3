"""The rule language: what a rule is, how it is written and described.

Read ``rule.py`` first, then ``rule_files.py``, ``identifiers.py`` and ``sentences.py``.
"""
