"""Output of the filter for users: log lines, stats, the file of drops, the status page.

Read ``drop_report.py`` first, then ``summary.py`` and ``status_page.py``. Decisions belong elsewhere.
"""
