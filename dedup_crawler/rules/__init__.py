"""Rules: the language, applying them to URLs, learning and judging them, and exporting them.

Read ``language/`` first, then ``applying/``; ``learning/`` makes the rules of our own method, ``miners/`` and ``dust/``
those of the papers. The comparison of pages belongs to ``evidence/``.
"""
