"""What workers do: read the texts of pages, and learn the model of one host."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from dedup_crawler.errors import BadInputError, DedupError
from dedup_crawler.labels.labelling import cluster_labelled
from dedup_crawler.labels.main_text import TextReader
from dedup_crawler.methods import make_method
from dedup_crawler.methods.model.training_data import TrainingData
from dedup_crawler.pages.records import LabelledPage, Page
from dedup_crawler.pages.store.batches import is_better
from dedup_crawler.pages.store.rows import storable
from dedup_crawler.spark.catalogue import HostRow, model_folder
from dedup_crawler.spark.frames import Row
from dedup_crawler.spark.sampling import Shares, sort_of

TEXTS = pa.schema(
    [
        ("host", pa.string()),
        ("source", pa.int64()),
        ("position", pa.int64()),
        ("url", pa.string()),
        ("status", pa.int64()),
        ("referrer", pa.string()),
        ("redirect_to", pa.string()),
        ("title", pa.string()),
        ("main_text", pa.string()),
        ("digest", pa.string()),
        ("has_body", pa.bool_()),
        ("is_skipped", pa.bool_()),  # its text could not be read
    ]
)
"""Columns of a data frame of texts."""

METHOD = "verified"
MAX_TEXT = 2**30
"""Most characters of text of a host; more would not fit into the memory of a worker."""


def texts_of(rows: Iterable[Row], plan: Mapping[str, Shares], language: str) -> Iterator[Row]:
    """Read the texts of the pages that *plan* (host -> what is kept) asks for; the bodies end here."""
    wanted: list[Row] = []

    def pages() -> Iterator[Page]:
        for row in rows:
            if row["damage"] is not None:
                continue
            host, template, key = sort_of(row["url"], row["redirect_to"])
            shares = plan.get(host)
            if shares is not None and (not shares or key < shares.get(template, 1.0)):
                page = Page(row["url"], row["status"], content_type=row["content_type"], content=row["content"])
                wanted.append({**row, "host": host, "has_body": bool(page.content)})
                yield page

    for text, reason in _reader(language).read(pages()):
        row = wanted.pop(0)
        kept = {name: row[name] for name in TEXTS.names if name in row}
        found = {"title": storable(text.title), "main_text": storable(text.main_text), "is_skipped": reason is not None}
        yield {**kept, **found}


@functools.cache
def _reader(language: str) -> TextReader:
    """One process that parses pages for this one, as in ``dedup-crawler label``: a page may crash it, or never end."""
    return TextReader(language, 1)


def learn_host(host: str, rows: Iterable[Row], n_found: int, folder: Path) -> HostRow:
    """Learn the model of a host and write it to its place in *folder*; never raises an error because of the pages.

    *n_found* is the number of pages that were found of the host, which may be more than *rows*.
    """
    start = time.monotonic()
    try:
        kept = _in_order(rows)
        pages = list(map(_page_of, kept))
        data = TrainingData.of_pages(pages, cluster_labelled(pages))
        model = make_method(METHOD).fit(data.urls, data.clusters, data.referrers, data.redirects, data.evidence)
        model.save(model_folder(folder, host))
    except Exception as error:  # noqa: BLE001 - one host must not end the job for all others
        reason = str(error) if isinstance(error, DedupError) else f"{type(error).__name__}: {error}"
        return HostRow(host, n_found=n_found, refused=storable(" ".join(reason.split())))
    evidence = model.rule_evidence().values()
    forms = {asked.form for asked in model.forms_in_order(zip(data.urls, data.referrers, strict=True))}
    return HostRow(
        host,
        n_found=n_found,
        n_pages=len(pages),
        n_clusters=len(set(data.clusters)),
        n_rules=model.n_learnt() or 0,
        n_groups=sum(n_groups for n_groups, _ in evidence),
        n_contradictions=sum(n_wrong for _, n_wrong in evidence),
        n_skipped=sum(row["is_skipped"] for row in kept),
        n_merged=len(pages) - len(forms),
        seconds=round(time.monotonic() - start, 2),
    )


def _in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows in crawl order, each URL once, with the answer that a store keeps."""
    found: list[Row] = []
    n_text = 0
    for row in rows:
        n_text += len(row["main_text"])
        if n_text > MAX_TEXT:
            raise BadInputError(f"its texts have more than {MAX_TEXT} characters: give a smaller --max-pages")
        found.append(row)
    kept: dict[str, Row] = {}
    for row in sorted(found, key=lambda row: (row["source"], row["position"])):
        known = kept.get(row["url"])
        if known is None or is_better((row["status"], row["has_body"]), (known["status"], known["has_body"])):
            kept[row["url"]] = row
    return list(kept.values())


def _page_of(row: Row) -> LabelledPage:
    return LabelledPage(
        url=row["url"],
        referrer=row["referrer"],
        status=row["status"],
        redirect_to=row["redirect_to"],
        title=row["title"],
        main_text=row["main_text"],
        simhash=None,
        cluster=None,
        digest=row["digest"],
    )
