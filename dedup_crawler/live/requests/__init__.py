"""Marks that the filter writes into requests, and requests stored as text.

Read ``question.py`` first (a request with its form and rules), then ``request_marks.py`` and ``request_text.py``.
Decisions belong to ``live/decisions.py``.
"""
