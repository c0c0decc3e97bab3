"""Rules: the language, applying them to URLs, learning and judging them, and exchanging them with other programs.

Read ``language/`` first, then ``applying/``; ``learning/`` makes the rules of our own method, ``miners/`` those of the
papers. The comparison of pages belongs to ``evidence/``.
"""
