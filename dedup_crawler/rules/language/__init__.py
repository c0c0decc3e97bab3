"""The one rule language of all miners: what a rule is, how it is written in a file, and how it is told to a person.

Read ``rule.py`` first, then ``substring_rule.py``, ``rule_files.py`` and ``sentences.py``. Nothing here applies a rule
to the URLs of a crawl, or decides whether it is right.
"""
