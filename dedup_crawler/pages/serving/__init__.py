"""Serves a recorded crawl as a live site on loopback.

Read `site.py` first (the server), then `urls.py` (recorded URLs of requests, and links in pages). `imports/` reads the
recordings. Nothing here fetches from a real site.
"""

from dedup_crawler.pages.serving.site import RecordedSite

__all__ = ["RecordedSite"]
