"""Exports of one planted crawl, as other programs write them."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
from pathlib import Path

from scrapy.exporters import CsvItemExporter, JsonItemExporter, JsonLinesItemExporter, XmlItemExporter

from planted_site import Crawl

CORPORA = Path(__file__).resolve().parents[2] / "shared" / "corpora"
EXPORTERS = {
    "json": JsonItemExporter,
    "jsonl": JsonLinesItemExporter,
    "csv": CsvItemExporter,
    "xml": XmlItemExporter,
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
    """A feed as Scrapy's own exporter writes it."""
    file = io.BytesIO()
    exporter = EXPORTERS[kind](file, **({} if indent is None else {"indent": indent}))
    exporter.start_exporting()
    for item in items:
        exporter.export_item(item)
    exporter.finish_exporting()
    return file.getvalue()


def frog_rows(crawl: Crawl) -> list[list[str]]:
    """Rows of the internal tab."""
    rows = []
    for url, cluster in zip(crawl.urls, crawl.clusters, strict=True):
        digest = hashlib.md5(html(cluster).encode(), usedforsecurity=False).hexdigest()
        kind = ["text/html; charset=utf-8", "200", "OK", "Indexable"]
        rows.append([url, *kind, f"Page {cluster}", url.split("&")[0], "900", "61", digest, ""])
    return rows


def frog_csv(rows: list[list[str]], *, title: str = "", separator: str = ",", encoding: str = "utf-8-sig") -> bytes:
    """The internal tab as a file."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL)
    if title:
        writer.writerow([title])
    writer.writerow(FROG_COLUMNS)
    writer.writerows(rows)
    return text.getvalue().encode(encoding)


def sha1(cluster: int) -> str:
    return base64.b32encode(hashlib.sha1(html(cluster).encode(), usedforsecurity=False).digest()).decode()


def cdx(crawl: Crawl, letters: str = "N b a m s k r M S V g") -> str:
    """An index with a header."""
    lines = [f" CDX {letters}"]
    for number, (url, cluster) in enumerate(zip(crawl.urls, crawl.clusters, strict=True)):
        cells = {
            "N": f"example,forum){url.partition('example')[2]}",
            "b": f"2024010100{number // 60:02}{number % 60:02}",
            "a": url,
            "m": "text/html",
            "s": "200",
            "k": sha1(cluster),
            "g": "crawl.warc.gz",
        }
        lines.append(" ".join(cells.get(letter, "-") for letter in letters.split()))
    return "\n".join(lines) + "\n"


def cdxj(crawl: Crawl) -> str:
    """An index of key, time and JSON."""
    return "".join(
        f"example,forum)/{number} 20240101000000 "
        + json.dumps({"url": url, "mime": "text/html", "status": "200", "digest": f"sha1:{sha1(cluster)}"})
        + "\n"
        for number, (url, cluster) in enumerate(zip(crawl.urls, crawl.clusters, strict=True))
    )
