"""Web-server logs: the accesses in them, and what they say of each URL.

Read `access_log.py` first (formats, accesses, accesses as pages), then `url_sizes.py` (the range of sizes that each URL
was seen with, from which `mine-log` learns). Rules are not mined in here, and nothing is fetched.
"""
