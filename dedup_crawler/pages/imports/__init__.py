"""Imports the files of other programs into the store: WARC, WACZ, JSON lines, CSV and access logs.

Read `importing.py` first (it chooses a reader for each file), then the readers: `warc.py`, `http.py` and
`warc_pages.py` (records, messages, pages), and `items.py`. A reader turns chunks of bytes into pages and reports
damage; it does not write to the store.
"""

from dedup_crawler.pages.imports.importing import ImportReport, import_files

__all__ = ["ImportReport", "import_files"]
