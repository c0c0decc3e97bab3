"""The files that pages are read from: which kind each is, and which cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from dedup_crawler.errors import BadInputError, DedupError
from dedup_crawler.pages.compression import OnDamage
from dedup_crawler.pages.database import shown_location
from dedup_crawler.pages.imports import Kind, Source, kind_of
from dedup_crawler.pages.items import NAMES, has_field, page_of
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.store import PageStore
from dedup_crawler.pages.tables import storable

_PARQUET_MARK = b"PAR1"
_SQLITE_MARK = b"SQLite format 3\0"
_BATCH_ROWS = 64  # of a Parquet file in memory


@dataclass(frozen=True, slots=True)
class Input:
    """A file, or the address of a crawl database."""

    place: str
    kind: Kind | None = None
    """Kind of a file that ``dedup-crawler import`` reads too; None for Parquet and databases."""
    is_parquet: bool = False

    @property
    def name(self) -> str:
        """The place, without a password."""
        return shown_location(self.place)

    def pages(self, on_damage: OnDamage) -> Iterator[Page]:
        """Read the pages in order; what cannot be read is told by its place in the file and the reason."""
        if self.kind is not None:
            steps = Source(Path(self.place), self.kind).steps(on_damage, lambda n_bytes: None, 0)
            return (page for _, page in steps if page is not None)
        return _parquet_pages(self.place, on_damage) if self.is_parquet else _stored_pages(self.place)


def find_inputs(paths: Sequence[str]) -> tuple[list[Input], list[str]]:
    """The inputs of *paths* in order, and a line for each file that cannot be used.

    A path is a file, a folder of files (in the order of their names; hidden ones and those that begin with ``_`` are
    left out), or the SQLAlchemy URL of a crawl database.

    Raises
    ------
    BadInputError
        If a path does not exist, or no file can be used.
    """
    found = [_input_or_problem(place) for path in paths for place in _files_of(path)]
    inputs = [each for each in found if isinstance(each, Input)]
    problems = [each for each in found if isinstance(each, str)]
    if not inputs:
        more = f" (and {len(problems) - 1} more that cannot be used)" if len(problems) > 1 else ""
        raise BadInputError(problems[0] + more if problems else f"there is no file in {', '.join(paths)}")
    return inputs, problems


def _files_of(path: str) -> list[str]:
    if "://" in path or Path(path).is_file():
        return [path]
    if not Path(path).is_dir():
        raise BadInputError(f"there is no file or folder {path}")
    found = sorted(each for each in Path(path).rglob("*") if each.is_file())
    return [str(each) for each in found if each.name[0] not in "._"]


def _input_or_problem(place: str) -> Input | str:
    try:
        return _input_of(place)
    except DedupError as error:
        return str(error)


def _input_of(place: str) -> Input:
    if "://" in place:
        PageStore(place, create=False).close()
        return Input(place)
    place = str(Path(place).absolute())  # workers may run in another folder
    try:
        with Path(place).open("rb") as file:
            start = file.read(len(_SQLITE_MARK))
    except OSError as error:
        raise BadInputError(f"{place} cannot be read: {error.strerror}") from error
    if start == _SQLITE_MARK:
        PageStore(place, create=False).close()
        return Input(place)
    if not start.startswith(_PARQUET_MARK):
        return Input(place, kind_of(Path(place), NAMES, None))
    try:
        columns = parquet.read_schema(place).names
    except (pyarrow.ArrowException, OSError) as error:
        raise BadInputError(f"{place} cannot be read as Parquet: {error}") from error
    if not has_field(columns, "url", NAMES):
        raise BadInputError(f"{place} has no column {' or '.join(NAMES['url'])!r}; columns: {', '.join(columns[:8])}")
    return Input(place, is_parquet=True)


def _parquet_pages(place: str, on_damage: OnDamage) -> Iterator[Page]:
    number = 0
    try:
        with parquet.ParquetFile(place) as file:
            names = [name for name in file.schema_arrow.names if any(has_field([name], each, NAMES) for each in NAMES)]
            for batch in file.iter_batches(_BATCH_ROWS, columns=names):
                for row in batch.to_pylist():
                    number += 1
                    if (page := _page_of_row(row, number, on_damage)) is not None:
                        yield page
    except (pyarrow.ArrowException, OSError) as error:
        on_damage(number, f"row {number + 1}: {error}; the rest is not read")


def _page_of_row(row: dict[str, Any], number: int, on_damage: OnDamage) -> Page | None:
    """The page of a row, whose body may be text or bytes."""
    body = next((value for value in row.values() if isinstance(value, bytes) and value), None)
    try:
        page = page_of({name: value for name, value in row.items() if not isinstance(value, bytes)})
    except (ValueError, OverflowError) as error:
        on_damage(number, f"row {number}: {error}")
        return None
    if page is None or body is None:
        return page
    return replace(page, content=body, digest=None, canonical_link=None)


def _stored_pages(place: str) -> Iterator[Page]:
    with closing(PageStore(place, create=False)) as store:
        yield from store.pages()


def read_pages(source: Input) -> Iterator[Page | str]:
    """Read the pages of an input, and at the end a line for what could not be read of it, if anything.

    In URLs, characters that a store refuses are replaced as the store does.
    """
    n_damages = 0
    first = ""

    def on_damage(place: int, reason: str) -> None:
        nonlocal n_damages, first
        n_damages += 1
        first = first or f"{place}: {reason}"

    try:
        for page in source.pages(on_damage):
            yield _storable(page)
    except (DedupError, OSError) as error:  # of one file among many: it was there when the job began
        on_damage(0, str(error))
    if n_damages:
        yield f"{source.name}: {n_damages} {'place' if n_damages == 1 else 'places'} could not be read; first {first}"


def _storable(page: Page) -> Page:
    url, redirect_to = storable(page.url), storable(page.redirect_to)
    if url is page.url and redirect_to is page.redirect_to:
        return page
    return replace(page, url=url, redirect_to=redirect_to)
