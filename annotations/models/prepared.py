"""Prepared statements: the ORM writes the SQL once, and later calls only fill in values.

For queries that run at every keystroke, building the SQL takes Django several times as long as the database needs to
answer. The ORM still writes the SQL, so that it follows the models and fits both databases.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models import sql
from django.db.models.base import ModelState

Model = TypeVar("Model", bound=models.Model)
# Placeholders for the values while the SQL is written: unlikely in any query, and small enough for every column.
_MARKS: dict[type, Callable[[int], "Value"]] = {
    int: lambda at: 1_900_000_000 + at,
    str: lambda at: f"value-{at}-of-a-prepared-statement",
    datetime: lambda at: datetime(1900, 1, 1, microsecond=at + 1, tzinfo=UTC),
}
Value = int | str | datetime


def columns_of(model: type[models.Model], *, without: Sequence[str] = ()) -> list[str]:
    """Return the model's columns for `values_list`; `object_of` makes objects from such rows."""
    return [field.attname for field in model._meta.concrete_fields if field.attname not in without]


def object_of(model: type[Model], columns: Sequence[str], row: Sequence[Any]) -> Model:
    """Make an object from a row of `columns_of`. Columns that were left out are loaded on access.

    As Django's `from_db` does for a model without handlers of its signals, which sets each value by its descriptor.
    """
    made = model.__new__(model)
    made.__dict__.update(zip(columns, row, strict=True), _state=ModelState())
    made._state.adding, made._state.db = False, DEFAULT_DB_ALIAS
    return made


class _Statement:
    """A prepared statement. `kinds` are the types of the values (int, str, datetime) that each call takes."""

    def __init__(self, build: Callable[..., Any], *kinds: type) -> None:
        self._build = build
        self._marks = [_MARKS[kind](at) for at, kind in enumerate(kinds)]
        self._has_moments = datetime in kinds
        self._written: dict[str, tuple[str, list[tuple[int | None, Any]]]] = {}

    def _write(self, build: Any) -> tuple[str, Sequence[Any]]:
        raise NotImplementedError

    def _filled(self, database: Any, values: Sequence[Value]) -> tuple[str, list[Any]]:
        written = self._written.get(database.vendor)
        if written is None:
            statement, parameters = self._write(self._build(*self._marks))
            marks = [_adapted(database, mark) for mark in self._marks]
            missing = [mark for mark in marks if mark not in parameters]
            if missing:
                raise TypeError(f"{self._build} does not use the values {missing}")
            # Each parameter is either the index of a value or a constant.
            slots = [(marks.index(each) if each in marks else None, each) for each in parameters]
            written = self._written[database.vendor] = (statement, slots)
        statement, slots = written
        if self._has_moments:
            values = [_adapted(database, value) for value in values]
        return statement, [constant if slot is None else values[slot] for slot, constant in slots]


def _adapted(database: Any, value: Value) -> Any:
    """Convert a value for the database: SQLite has no type for points in time."""
    return database.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value


class PreparedRead(_Statement):
    """A query of plain columns: `PreparedRead(lambda pk: Note.objects.filter(pk=pk).values_list("name"), int)`.

    Values come as the database gives them. Numbers, text and booleans equal those of the ORM; others may differ.
    """

    def _write(self, build: "models.QuerySet[Any, Any]") -> tuple[str, Sequence[Any]]:
        statement, parameters = build.query.sql_with_params()
        return statement, parameters

    def first(self, *values: Value) -> tuple[Any, ...] | None:
        """Return the first row, by the queryset's own limit and order."""
        database = connections[DEFAULT_DB_ALIAS]
        with database.cursor() as cursor:
            cursor.execute(*self._filled(database, values))
            row: tuple[Any, ...] | None = cursor.fetchone()
            return row

    def all(self, *values: Value) -> list[tuple[Any, ...]]:
        database = connections[DEFAULT_DB_ALIAS]
        with database.cursor() as cursor:
            cursor.execute(*self._filled(database, values))
            return list(cursor.fetchall())


class PreparedUpdate(_Statement):
    """An update: `PreparedUpdate(lambda pk: (Note.objects.filter(pk=pk), {"name": ""}), int)`."""

    def _write(self, build: "tuple[models.QuerySet[Any, Any], dict[str, Any]]") -> tuple[str, Sequence[Any]]:
        rows, changes = build
        query: Any = rows.query.chain(sql.UpdateQuery)
        query.add_update_values(changes)
        statement, parameters = query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
        return statement, parameters

    def run(self, *values: Value) -> int:
        """Run the update and return the number of changed rows."""
        database = connections[DEFAULT_DB_ALIAS]
        with database.cursor() as cursor:
            cursor.execute(*self._filled(database, values))
            return int(cursor.rowcount)
