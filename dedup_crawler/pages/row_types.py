"""Types of what a database gives: SQLite stores in any column what it is given, and anybody may have given it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import LargeBinary

from dedup_crawler.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Dialect, Row, Select
    from typing_extensions import Unpack

AnyRow = TypeVar("AnyRow", bound="Row[Unpack[tuple[Any, ...]]]")

_NOTHING = type(None)
_NAMES = {int: "a whole number", float: "a number", str: "a text", bytes: "a body"}


class Body(LargeBinary):
    """Bytes as the driver gives them: by default a number would become as many zero bytes, and a text a TypeError."""

    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        """None for SQLite, whose driver gives bytes."""
        processor: Callable[[Any], Any] | None = super().result_processor(dialect, coltype)  # type: ignore[no-untyped-call]
        return None if dialect.name == "sqlite" else processor


class RowTypes:
    """Checks the rows of one query against the types of its columns.

    Parameters
    ----------
    query
        Of columns of our tables, and of functions of them that give a whole number or nothing.
    name
        Of the database, for errors.
    """

    def __init__(self, query: Select[Unpack[tuple[Any, ...]]], name: str) -> None:
        self._name = name
        self._columns = [_column(column) for column in query.selected_columns]
        self._known: set[tuple[type, ...]] = set()

    def checked(self, rows: Sequence[AnyRow]) -> Sequence[AnyRow]:
        """The *rows*.

        Raises
        ------
        StoreError
            If a value is of another type than its column.
        """
        for row in rows:
            types = tuple(map(type, row))
            if types not in self._known:
                self._check(row)
                self._known.add(types)
        return rows

    def _check(self, row: Sequence[Any]) -> None:
        for value, (name, kinds) in zip(row, self._columns, strict=True):
            if type(value) not in kinds:
                raise StoreError(
                    f"{self._name}: a row has {repr(value)[:40]} as its {name}, which has to be {_NAMES[kinds[0]]}: "
                    "the database is damaged; crawl or import it again into a new file"
                )


def _column(column: Any) -> tuple[str, tuple[type, ...]]:
    """Name of a column and the types that its values may have."""
    kind = column.type.python_type
    if kind is object:  # of a function
        kind = int
    kinds = (float, int) if kind is float else (kind,)
    # what an outer join adds may be missing
    is_optional = getattr(column, "nullable", True) or column.table.name == "digests"
    return getattr(column, "name", str(column)), (*kinds, _NOTHING) if is_optional else kinds
