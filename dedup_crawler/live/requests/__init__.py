"""What a request carries of its decision, and how a request is kept outside of Scrapy.

Read ``question.py`` first (what is asked about a request), then ``request_marks.py`` and ``request_text.py``. What is
decided belongs to ``live/decisions.py``.
"""
