"""The rule language of all miners: rules as objects, as JSON and as English sentences.

Read ``rule.py`` first, then ``substring_rule.py``, ``rule_files.py`` and ``sentences.py``; ``candidates.py`` names the
values that candidates remove. Nothing here applies a rule to the URLs of a crawl, or decides whether it is right.
"""
