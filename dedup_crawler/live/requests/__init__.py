"""Marks of a decision on its request, and the text by which a request is kept outside of Scrapy.

Read ``question.py`` first (what is asked about a request), then ``request_marks.py`` and ``request_text.py``. What is
decided belongs to ``live/decisions.py``.
"""
