"""Files of other programs into the store: WARC, WACZ, JSON lines, CSV and access logs.

Read `importing.py` first (the way of a file, and which reader it gets), then the readers: `warc.py`, `http.py` and
`warc_pages.py` (records, messages, pages), `items.py`. A reader turns chunks of bytes into
pages and tells what it could not read; it neither writes to the store nor judges what a page shows.
"""

from dedup_crawler.pages.imports.importing import ImportReport, import_files

__all__ = ["ImportReport", "import_files"]
