"""Our own method: it asks coarse questions first, and believes only what the crawl confirms.

Read ``method``; ``proposals`` are what another model suggests to it, ``site_text`` is what a crawl needs to compare
pages as learning did. How hypotheses are made and judged belongs to ``rules/`` and ``evidence/``.
"""

from dedup_crawler.methods.verified.method import Verified

__all__ = ["Verified"]
