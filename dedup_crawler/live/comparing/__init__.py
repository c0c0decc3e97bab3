"""Comparison of two fetched pages, for the tests of a rule.

Read ``same_page.py`` first, then ``site_texts.py``, which reads what the pages of a site share, and ``frame_of_time.py``
for what they share for a while. What comes of a verdict belongs to ``live/exploration/``.
"""
