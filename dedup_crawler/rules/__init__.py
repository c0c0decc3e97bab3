"""Rules: the language, applying them to URLs, learning and judging them, and exporting them.

Read ``language/`` first, then ``applying/``; the files of this folder learn and judge the rules of our own method, and
``miners/`` and ``dust/`` those of the papers. What a page says belongs to ``evidence/``, not here.
"""
