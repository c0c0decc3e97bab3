"""Tests of the rules: some would-be drops are fetched nevertheless, as evidence for or against their rules.

Read ``explorer.py`` first, then ``rule_evidence.py`` (the state of each rule) and ``value_tests.py`` (of each value of
a candidate). ``comparisons.py`` and ``covered_tests.py`` bring the verdicts. These files use neither Scrapy nor a
clock; ``live/comparing/`` compares the pages.
"""
