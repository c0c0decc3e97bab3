"""Rules in the formats of other programs: written by ``exports.py``, read and applied by ``static_rules.py``."""
