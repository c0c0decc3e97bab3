"""Everything that a user sees of the filter: log lines, stats, the file of drops, the status page.

Read ``drop_report.py`` first, then ``summary.py`` and ``status_page.py``. Nothing here decides anything.
"""
