"""Our own method: it tests coarse hypotheses first, and believes only what the crawl confirms.

Read ``method`` first, then ``learning``, which fits it; ``proposals`` reads the proposals of another model. Hypotheses
are made and judged in ``rules/`` and ``evidence/``.
"""

from dedup_crawler.methods.verified.method import Verified

__all__ = ["Verified"]
