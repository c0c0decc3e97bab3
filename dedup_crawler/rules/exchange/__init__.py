"""Rules in the formats of other programs.

Read ``exports.py`` first, which writes the rules of a model; ``static_rules.py`` reads rules that people wrote, and
applies them in front of a model. ``clearurls.py`` parses the rules of ClearURLs. Nothing here learns a rule.
"""
