"""Statements that the ORM writes once: what runs at every key stroke needs no new SQL every time.

Building a query costs Django several times what the database needs to answer it. Here the ORM still writes the SQL, so
that it follows the models and fits both databases; it is kept, and later calls only fill in their values.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models import sql

Model = TypeVar("Model", bound=models.Model)
# Stand for the values while the SQL is written: not found in any query by chance, and small enough for every column.
_MARKS: dict[type, Callable[[int], "Value"]] = {
    int: lambda at: 1_900_000_000 + at,
    str: lambda at: f"value-{at}-of-a-prepared-statement",
    datetime: lambda at: datetime(1900, 1, 1, microsecond=at + 1, tzinfo=UTC),
}
Value = int | str | datetime


def columns_of(model: type[models.Model], *, without: Sequence[str] = ()) -> list[str]:
    """The model's columns for `values_list`, to become objects by `object_of`."""
    return [field.attname for field in model._meta.concrete_fields if field.attname not in without]


def object_of(model: type[Model], columns: Sequence[str], row: Sequence[Any]) -> Model:
    """An object of a row that was read by `columns_of`; the columns left out there are read when they are asked for."""
    return model.from_db(DEFAULT_DB_ALIAS, columns, row)


class _Statement:
    """`kinds` are the types of the values (int, str, datetime) as `build` and the calls take them, in order."""

    def __init__(self, build: Callable[..., Any], *kinds: type) -> None:
        self._build = build
        self._marks = [_MARKS[kind](at) for at, kind in enumerate(kinds)]
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
            # For every parameter: which value it takes, or the constant that it is.
            slots = [(marks.index(each) if each in marks else None, each) for each in parameters]
            written = self._written[database.vendor] = (statement, slots)
        statement, slots = written
        return statement, [constant if slot is None else _adapted(database, values[slot]) for slot, constant in slots]


def _database() -> Any:
    """This thread's connection itself: through Django's proxy every look at it costs a search."""
    return connections[DEFAULT_DB_ALIAS]


def _adapted(database: Any, value: Value) -> Any:
    """As the database takes it: SQLite has no type for points in time."""
    return database.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value


class PreparedRead(_Statement):
    """`PreparedRead(lambda pk: Note.objects.filter(pk=pk).values_list("name"), int)`: a queryset of plain columns.

    Rows come as the database gives them: for numbers, text and booleans that is what the ORM gives, for others not.
    """

    def _write(self, build: "models.QuerySet[Any, Any]") -> tuple[str, Sequence[Any]]:
        statement, parameters = build.query.sql_with_params()
        return statement, parameters

    def first(self, *values: Value) -> tuple[Any, ...] | None:
        """The first row; the queryset's own limit and order decide which."""
        database = _database()
        with database.cursor() as cursor:
            cursor.execute(*self._filled(database, values))
            row: tuple[Any, ...] | None = cursor.fetchone()
            return row

    def all(self, *values: Value) -> list[tuple[Any, ...]]:
        database = _database()
        with database.cursor() as cursor:
            cursor.execute(*self._filled(database, values))
            return list(cursor.fetchall())


class PreparedUpdate(_Statement):
    """`PreparedUpdate(lambda pk: (Note.objects.filter(pk=pk), {"name": ""}), int)`: rows, and their new values."""

    def _write(self, build: "tuple[models.QuerySet[Any, Any], dict[str, Any]]") -> tuple[str, Sequence[Any]]:
        rows, changes = build
        query: Any = rows.query.chain(sql.UpdateQuery)
        query.add_update_values(changes)
        statement, parameters = query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
        return statement, parameters

    def run(self, *values: Value) -> int:
        """How many rows were changed."""
        database = _database()
        with database.cursor() as cursor:
            cursor.execute(*self._filled(database, values))
            return int(cursor.rowcount)


# Fields whose values a driver takes as they are, if they are of these types.
_PLAIN = (models.IntegerField, models.CharField, models.TextField, models.FloatField, models.ForeignKey)
_AS_IT_IS = frozenset({int, str, float, type(None)})


class PreparedInsert:
    """`PreparedInsert(Event).run(Event(...))`: one new row, without the signals of `save`."""

    def __init__(self, model: type[models.Model]) -> None:
        fields = [field for field in model._meta.concrete_fields if not field.primary_key]
        self._fields = [(field, field.attname, isinstance(field, _PLAIN)) for field in fields]
        name = _database().ops.quote_name
        meta = model._meta
        columns = ", ".join(name(str(field.column)) for field in fields)
        marks = ", ".join(["%s"] * len(fields))
        # All names are the model's own. Both databases quote them alike.
        self._statement = (
            f"INSERT INTO {name(meta.db_table)} ({columns}) VALUES ({marks}) RETURNING {name(str(meta.pk.column))}"  # noqa: S608
        )

    def run(self, made: Model) -> Model:
        """Its key is set, as `save` would."""
        database = _database()
        values = []
        for field, name, plain in self._fields:
            value = getattr(made, name)
            if not plain or type(value) not in _AS_IT_IS:
                value = field.get_db_prep_save(field.pre_save(made, True), database)
            values.append(value)
        with database.cursor() as cursor:
            cursor.execute(self._statement, values)
            (made.pk,) = cursor.fetchone()
        made._state.adding, made._state.db = False, DEFAULT_DB_ALIAS
        return made
