"""A recorded crawl as a live site on loopback.

Read `site.py` first (the server), then `urls.py` (which recorded URL a request means, and links in pages). What a
recording is and how it is read belongs to `imports/`; nothing in here fetches from a real site.
"""

from dedup_crawler.pages.serving.site import RecordedSite

__all__ = ["RecordedSite"]
