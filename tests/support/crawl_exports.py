"""Exports of one planted crawl, as other programs write them."""

from __future__ import annotations

import csv
import hashlib
import io

from scrapy.exporters import CsvItemExporter, JsonItemExporter, JsonLinesItemExporter

from planted_site import Crawl

EXPORTERS = {
    "json": JsonItemExporter,
    "jsonl": JsonLinesItemExporter,
    "csv": CsvItemExporter,
}
FROG_COLUMNS = (
    "Address",
    "Content Type",
    "Status Code",
    "Status",
    "Indexability",
    "Title 1",
    "Canonical Link Element 1",
    "Size (bytes)",
    "Word Count",
    "Hash",
    "Redirect URL",
)


def html(cluster: int) -> str:
    words = " ".join(f"word{cluster}x{i}" for i in range(60))
    return f'<html><head><title>Page "{cluster}", really</title></head>\n<body><p>{words}.</p></body></html>'


def scrapy_feed(kind: str, items: list[dict[str, object]], indent: int | None = None) -> bytes:
    """Return a feed as Scrapy's exporter writes it."""
    file = io.BytesIO()
    exporter = EXPORTERS[kind](file, **({} if indent is None else {"indent": indent}))
    exporter.start_exporting()
    for item in items:
        exporter.export_item(item)
    exporter.finish_exporting()
    return file.getvalue()


def frog_rows(crawl: Crawl) -> list[list[str]]:
    """Return the rows of the internal tab."""
    rows = []
    for url, cluster in zip(crawl.urls, crawl.clusters, strict=True):
        digest = hashlib.md5(html(cluster).encode(), usedforsecurity=False).hexdigest()
        kind = ["text/html; charset=utf-8", "200", "OK", "Indexable"]
        rows.append([url, *kind, f"Page {cluster}", url.split("&")[0], "900", "61", digest, ""])
    return rows


def frog_csv(rows: list[list[str]], *, separator: str = ",", encoding: str = "utf-8-sig") -> bytes:
    """Return the internal tab as a file."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL)
    writer.writerow(FROG_COLUMNS)
    writer.writerows(rows)
    return text.getvalue().encode(encoding)
