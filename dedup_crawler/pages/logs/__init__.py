"""Web-server logs: their accesses, and the sizes of the answers to each URL.

Read `access_log.py` first (formats, accesses, accesses as pages), then `url_sizes.py` (the range of sizes of each URL,
from which `mine-log` learns). Rules are mined in `rules/dust/`.
"""
