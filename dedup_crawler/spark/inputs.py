"""The files that pages are read from, which of them cannot be read, and which pages of a large host are learnt from.

These pages are chosen by the URL alone, and so in one pass over any number of pages. URLs are sorted by template, so
that a rare kind of page keeps all of its URLs where a frequent one keeps a share. The URLs of one thing have one *key*
(the numbers of the path, as a rule) and go together: of ``/topic/42`` and ``/topic/42?page=1`` both are learnt from, or
neither. A key that is kept in one template is kept in all that keep a larger share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
import xxhash
from pyarrow import parquet

from dedup_crawler.errors import BadInputError, DedupError
from dedup_crawler.pages.compression import Damages, OnDamage
from dedup_crawler.pages.database import shown_location
from dedup_crawler.pages.imports import Kind, Source, kind_of_file
from dedup_crawler.pages.items import NAMES, has_field, page_of
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.store import PageStore
from dedup_crawler.pages.tables import storable
from dedup_crawler.urls.normal import host_of, normal_form

_PARQUET_MARK = b"PAR1"
_SQLITE_MARK = b"SQLite format 3\0"
_BATCH_ROWS = 64  # of a Parquet file in memory
N_TEMPLATES = 1000
"""Largest number of templates of a host; more share their numbers, so that nobody can make the counts grow."""
_SIZE = 2**32

_DIGITS = re.compile("[0-9]+")
_VALUE = re.compile("[?&;][^=&;]*=([^&;]+)")

Shares = Mapping[int, float]
"""Template -> share (0-1) of its keys that is kept; an empty one keeps all pages."""


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
            return (page for _, page in Source(Path(self.place), self.kind).steps(on_damage) if page is not None)
        return _parquet_pages(self.place, on_damage) if self.is_parquet else _stored_pages(self.place)


def find_inputs(paths: Sequence[str]) -> tuple[list[Input], list[str]]:
    """The inputs of *paths* in order, and a line for each file that cannot be used.

    A path is a file, a folder of files (in the order of their names; hidden ones and those that begin with ``_`` are
    left out), or the SQLAlchemy URL of a crawl database.

    BadInputError if a path does not exist, or no file can be used.
    """
    inputs, problems = [], []
    for place in [place for path in paths for place in _files_of(path)]:
        try:
            inputs.append(_input_of(place))
        except DedupError as error:  # noqa: PERF203 - of one file among many
            problems.append(str(error))
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
        return Input(place, kind_of_file(Path(place), NAMES, None))
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
    with PageStore(place, create=False) as store:
        yield from store.pages()


def read_pages(source: Input) -> Iterator[Page | str]:
    """Read the pages of an input, and at the end a line for what could not be read of it, if anything.

    In URLs, characters that a store refuses are replaced as the store does.
    """
    damages = Damages()
    on_damage = damages.of(source.name)
    try:
        for page in source.pages(on_damage):
            yield _storable(page)
    except (DedupError, OSError) as error:  # of one file among many: it was there when the job began
        on_damage(0, str(error))
    if damages.n:
        first = damages.records[0]
        places = f"{damages.n} {'place' if damages.n == 1 else 'places'}"
        yield f"{source.name}: {places} could not be read; first {first.offset}: {first.reason}"


def _storable(page: Page) -> Page:
    url, redirect_to = storable(page.url), storable(page.redirect_to)
    if url is page.url and redirect_to is page.redirect_to:
        return page
    return replace(page, url=url, redirect_to=redirect_to)


class Sort(NamedTuple):
    """Host, template (a number below :data:`N_TEMPLATES`) and key (0-1) of a page."""

    host: str
    template: int
    key: float


def sort_of(url: str, redirect_to: str | None) -> Sort:
    """Sort a page; a redirect has the key of its target, so that both are kept.

    >>> sort_of("http://a.example/topic/42-x?page=1", None)[1:] == sort_of("http://a.example/topic/7?page=2", None)[1:]
    False
    >>> sort_of("http://a.example/topic/42-x?page=1", None).key == sort_of("http://a.example/t/42", None).key
    True
    """
    form = normal_form(url)
    path, query = _path_and_query(form)
    names = sorted({part.partition("=")[0] for part in re.split("[&;]", query)})
    folders = path.split("/")
    template = " ".join([*folders[1:2], str(len(folders)), *names])
    number = xxhash.xxh32_intdigest(_DIGITS.sub("0", template).encode()) % N_TEMPLATES
    return Sort(host_of(form), number, _key_of(normal_form(redirect_to) if redirect_to else form))


def shares_of(n_pages: Mapping[int, int], most: int) -> Shares:
    """Shares of the templates with *n_pages*, by which about *most* pages are kept.

    Every template keeps the same number of pages, or all if it has fewer.

    >>> shares_of({0: 1000, 1: 10}, 110)
    {0: 0.1, 1: 1.0}
    """
    left, n_left = most, len(n_pages)
    level = 0.0
    for n in sorted(n_pages.values()):
        level = left / n_left
        if n > level:
            break
        left, n_left = left - n, n_left - 1
    else:
        return {}
    return {template: min(1.0, level / n) for template, n in n_pages.items()}


def _key_of(form: str) -> float:
    path, query = _path_and_query(form)
    value = _VALUE.search(f"?{query}")
    key = "-".join(_DIGITS.findall(path)) or (value[1] if value is not None else path.rpartition("/")[2])
    return xxhash.xxh32_intdigest(key.encode()) / _SIZE


def _path_and_query(form: str) -> tuple[str, str]:
    """Path and query of a URL in normal form."""
    path, _, query = form.partition("://")[2].partition("?")
    return f"/{path.partition('/')[2]}", query
