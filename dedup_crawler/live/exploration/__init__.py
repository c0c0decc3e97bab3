"""Tests of the rules: some would-be drops are fetched nevertheless, as evidence for or against their rules.

Read ``explorer.py`` first, then ``rule_evidence.py`` and ``rule_life.py`` (the state of each rule, and of each value of
a candidate). ``comparisons.py`` and ``covered_tests.py`` bring the verdicts; ``same_page.py`` compares two pages by the
comparer of ``evidence/``. ``dropped_requests.py`` keeps what may be sent after all.
"""
