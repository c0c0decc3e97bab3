"""Learns the model of one host from its texts, in a worker, and keeps the catalogue of all hosts.

The catalogue says what became of each host, in one Parquet file beside the models. A worker writes the row of a host,
as JSON, when the model is in its place. So a job that was stopped knows which hosts are done, and the catalogue is made
of these rows at the end.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from dedup_crawler.errors import BadInputError, DedupError
from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.evidence.labelling import compared_clusters
from dedup_crawler.json_values import read_json
from dedup_crawler.methods import make_method
from dedup_crawler.methods.model.folder import DESCRIPTION, folder_name, write_whole
from dedup_crawler.methods.model.training_data import TrainingData
from dedup_crawler.pages.store import is_better
from dedup_crawler.pages.tables import storable
from dedup_crawler.spark.session import Row
from dedup_crawler.spark.texts import Text

CATALOGUE = "catalogue.parquet"
_ROWS = ".catalogue"
MAX_TEXT = 2**30
"""Most characters of text of a host; more would not fit into the memory of a worker."""


@dataclass(frozen=True, slots=True)
class HostRow:
    """One host of the catalogue; the counts of a refused host are 0."""

    host: str
    n_found: int
    """Pages that were found of the host, repeated URLs included."""
    n_pages: int = 0
    """URLs that were learnt from; of a sampled host far fewer than were found."""
    is_sampled: bool = False
    n_skipped: int = 0
    """URLs among them whose text could not be read: too long, too deep, or the end of the process that read it."""
    n_clusters: int = 0
    """Different pages that these URLs show."""
    n_rules: int = 0
    n_groups: int = 0
    """Groups of URLs that the rules merge, the evidence for them."""
    n_contradictions: int = 0
    """Groups among them that show different pages."""
    n_merged: int = 0
    """Expected saving: URLs, of those learnt from, that a crawl with the model would not have fetched."""
    seconds: float = 0.0
    """Time of labelling and learning, without reading texts."""
    refused: str = ""
    """Reason why there is no model."""


def learn_host(host: str, rows: Iterable[Row], n_found: int, folder: Path) -> HostRow:
    """Learn the model of a host and write it to its place in *folder*; never raises an error because of the pages.

    *rows* are those of :data:`~dedup_crawler.spark.texts.TEXTS`. *n_found* is the number of pages that were found of
    the host, which may be more than their texts.
    """
    start = time.monotonic()
    try:
        kept = _in_order(rows)
        pages = [text.page for text in kept]
        links = {text.page.url: text.links for text in kept}
        evidence = PageEvidence.of_pages(pages, links_of=lambda url: links.get(url, ()))
        data = TrainingData.of_pages(pages, compared_clusters(lambda: pages, evidence).numbers(), evidence)
        model = make_method("verified").fit(*data)
        model.save(folder / folder_name(host))
    except Exception as error:  # noqa: BLE001 - one host must not end the job for all others
        reason = str(error) if isinstance(error, DedupError) else f"{type(error).__name__}: {error}"
        return HostRow(host, n_found=n_found, refused=storable(" ".join(reason.split())))
    counts = model.rule_evidence().values()
    forms = {asked.form for asked in model.forms_in_order(zip(data.urls, data.referrers, strict=True))}
    return HostRow(
        host,
        n_found=n_found,
        n_pages=len(pages),
        n_clusters=len(set(data.clusters)),
        n_rules=model.n_learnt() or 0,
        n_groups=sum(n_groups for n_groups, _ in counts),
        n_contradictions=sum(n_wrong for _, n_wrong in counts),
        n_skipped=sum(text.is_skipped for text in kept),
        n_merged=len(pages) - len(forms),
        seconds=round(time.monotonic() - start, 2),
    )


def _in_order(rows: Iterable[Row]) -> list[Text]:
    """Texts in crawl order, each URL once, with the answer that a store keeps."""
    found: list[Text] = []
    n_letters = 0
    for row in rows:
        n_letters += row["n_letters"]
        if n_letters > MAX_TEXT:
            raise BadInputError(f"its texts have more than {MAX_TEXT} characters: give a smaller --max-pages")
        found.append(Text.of(row["text"]))
    kept: dict[str, Text] = {}
    for text in sorted(found, key=itemgetter(0, 1)):
        known = kept.get(text.page.url)
        if known is None or is_better((text.page.status, text.has_body), (known.page.status, known.has_body)):
            kept[text.page.url] = text
    return list(kept.values())


def write_row(folder: Path, row: HostRow) -> None:
    """Note that a host is done."""
    place = _row_file(folder, row.host)
    place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, json.dumps(asdict(row)).encode())


def row_of(folder: Path, host: str) -> HostRow | None:
    """The row of a host that was done; None if there is none, or if its model is gone."""
    place = _row_file(folder, host)
    try:
        value = read_json(place.read_bytes(), str(place))
        row = HostRow(**{name: entry.scalar() for name, entry in value.table().items()})  # type: ignore[arg-type]
    except (OSError, TypeError, BadInputError):
        return None
    if row.host != host:  # two names of hosts may have one name of a folder
        return None
    return row if row.refused or (folder / folder_name(host) / DESCRIPTION).is_file() else None


def write_catalogue(folder: Path, rows: Iterable[HostRow]) -> Path:
    """Write the catalogue; a reader sees the old one or the new one."""
    table = pa.Table.from_pylist([asdict(row) for row in sorted(rows, key=lambda row: row.host)])
    buffer = pa.BufferOutputStream()
    parquet.write_table(table, buffer)
    write_whole(folder / CATALOGUE, buffer.getvalue().to_pybytes())
    return folder / CATALOGUE


def _row_file(folder: Path, host: str) -> Path:
    return folder / _ROWS / f"{folder_name(host)}.json"
