"""Tests of the rules: some would-be drops are fetched all the same, and speak for their rules or against them.

Read ``explorer.py`` first, then ``rule_evidence.py`` (what is known of a rule) and ``worth.py`` (how many tests pay).
State alone, no Scrapy and no clock; whether two pages are the same is said in ``live/comparing/``.
"""
