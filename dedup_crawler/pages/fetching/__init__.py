"""Single pages of a live site, fetched by Scrapy in a process of its own, as a guest.

Read `fetcher.py` first (what `mine-log --validate` asks), then `spider.py` (what runs in the other process). Whole
crawls are the matter of the user's own spider; what the pages say of a rule is judged in `evaluation/`.
"""
