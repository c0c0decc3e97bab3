"""The catalogue: what became of each host, in one Parquet file beside the models.

A worker writes the row of a host, as JSON, when the model is in its place. So a job that was stopped knows which hosts
are done, and the catalogue is made of these rows at the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from dedup_crawler.errors import BadInputError
from dedup_crawler.json_values import read_json
from dedup_crawler.methods.model.folder import DESCRIPTION, folder_name
from dedup_crawler.whole_file import write_whole

CATALOGUE = "catalogue.parquet"
_ROWS = ".catalogue"


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


_TYPES = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
SCHEMA = pa.schema([(field.name, _TYPES[str(field.type)]) for field in fields(HostRow)])
"""Columns of the catalogue."""


def model_folder(folder: Path, host: str) -> Path:
    """Model folder of a host, named as ``dedup-crawler train`` names it."""
    return folder / folder_name(host)


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
    return row if row.refused or (model_folder(folder, host) / DESCRIPTION).is_file() else None


def write_catalogue(folder: Path, rows: Iterable[HostRow]) -> Path:
    """Write the catalogue; a reader sees the old one or the new one."""
    table = pa.Table.from_pylist([asdict(row) for row in sorted(rows, key=lambda row: row.host)], SCHEMA)
    buffer = pa.BufferOutputStream()
    parquet.write_table(table, buffer)
    write_whole(folder / CATALOGUE, buffer.getvalue().to_pybytes())
    return folder / CATALOGUE


def _row_file(folder: Path, host: str) -> Path:
    return folder / _ROWS / f"{folder_name(host)}.json"
