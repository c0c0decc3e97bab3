"""Marks of a decision on its request, and the text by which a request is kept outside of Scrapy.

Read ``question.py`` first (what is known of a request), then ``request_marks.py`` and ``request_text.py``; ``notes.py``
keeps requests that have no form. What is decided belongs to ``live/decisions.py``.
"""
