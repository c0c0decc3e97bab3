"""Gives URLs their canonical forms by rules that were learnt: what runs for every link of a crawl.

Read ``engine.py`` first, then ``rule_index.py`` and ``substring_index.py``; ``reading.py`` stands before the engine and
``new_words.py`` behind it. Nothing here learns a rule from pages.
"""
