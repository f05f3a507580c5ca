"""Many rows: bulk inserts as plain tuples, without the ORM's cost per object, and reading in batches and pages."""

import gc
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, connections, models
from django.db.models.expressions import RawSQL
from django.utils import timezone

from annotations.models import Span

Row = TypeVar("Row")
Value = TypeVar("Value", str, int)


class SpanRow(NamedTuple):
    """One row of the span table; `provenance` and `attributes` are JSON text. Bounds in code points, end-exclusive.

    `raw_confidence` is the backend's own confidence where `confidence` is calibrated.
    """

    annotation_set_id: int
    start: int
    end: int
    label_id: int
    confidence: float | None = None
    source: str = ""
    provenance: str | None = None
    raw_confidence: float | None = None
    string_key: int | None = None
    attributes: str | None = None


# Values per statement on SQLite: one statement per row takes one and a half times as long.
AT_ONCE = 900
# Fields whose values the database takes without conversion.
PLAIN = (models.CharField, models.TextField, models.IntegerField, models.BooleanField)


def insert_spans(rows: Iterable[SpanRow]) -> None:
    """Insert spans inside the caller's transaction. Columns in which no row has a value are left out, for speed."""
    columns = zip(SpanRow._fields, zip(*rows, strict=True), strict=False)
    given = {name: values for name, values in columns if values.count(None) < len(values)}
    if given:
        insert_rows(Span, list(given), zip(*given.values(), strict=True))


def insert_objects(model: type[models.Model], objects: Iterable[models.Model]) -> None:
    """Insert new rows as `bulk_create` does, several times as fast. The objects' primary keys are not set."""
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    now = timezone.now()
    values = [_inserted(field, now) for field in fields]
    rows = (tuple(value(each) for value in values) for each in objects)
    insert_rows(model, [field.attname for field in fields], rows)


@cache
def _insertion(model: type[models.Model], vendor: str) -> tuple[str, list[Callable[[models.Model], Any]]]:
    """The statement that inserts one object and returns its key, and functions that read the values of an object."""
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    insert, slots, _many = _statement(model, [field.attname for field in fields])
    return f"{insert}{slots} RETURNING {_key_of(model)}", [
        (lambda made, field=field: field.get_db_prep_save(field.pre_save(made, True), connection))
        if _is_moment(field)
        else _getter(field)
        for field in fields
    ]


def insert_object(made: models.Model) -> None:
    """Insert a new row as `save` does, in half the time, and set its key. No signals are sent."""
    database = connections[DEFAULT_DB_ALIAS]
    statement, values = _insertion(type(made), database.vendor)
    with database.cursor() as cursor:
        cursor.execute(statement, [value(made) for value in values])
        (made.pk,) = cursor.fetchone()
    made._state.adding, made._state.db = False, DEFAULT_DB_ALIAS


def _key_of(model: type[models.Model]) -> str:
    key = next(field for field in model._meta.concrete_fields if field.primary_key)
    return connection.ops.quote_name(str(key.column))


def insert_returning(
    model: type[models.Model], columns: Sequence[str], rows: Sequence[Sequence[Any]], **same: Any
) -> list[int]:
    """Insert rows with these columns, as `insert_rows` does, and return their primary keys in order.

    `same` gives columns that are the same in all rows, converted as fields convert them. The other columns get their
    fields' defaults, and the present moment where a field is set to that automatically.
    """
    rest = [field for field in model._meta.concrete_fields if not field.primary_key and field.attname not in columns]
    now = timezone.now()
    usual = [
        field.get_db_prep_save(
            same[field.attname] if field.attname in same else now if _is_moment(field) else field.get_default(),
            connection,
        )
        for field in rest
    ]
    insert, slots, many = _statement(model, [*columns, *(field.attname for field in rest)])
    returning = f" RETURNING {_key_of(model)}"
    keys: list[int] = []
    with connection.cursor() as cursor:
        for held in batched(rows, many):
            values = [value for row in held for value in (*row, *usual)]
            cursor.execute(insert + ", ".join([slots] * len(held)) + returning, values)
            keys += [pk for (pk,) in cursor.fetchall()]
    return keys


def update_rows(model: type[models.Model], columns: Sequence[str], objects: Iterable[models.Model]) -> None:
    """Store these columns of existing rows, by one prepared statement for all of them."""
    fields = [field for field in model._meta.concrete_fields if field.name in columns]
    quote = connection.ops.quote_name
    assignments = ", ".join(f"{quote(str(field.column))} = %s" for field in fields)
    statement = f"UPDATE {quote(model._meta.db_table)} SET {assignments} WHERE {_key_of(model)} = %s"  # noqa: S608 - names of models
    values = [_getter(field) for field in fields]
    rows = [(*[value(each) for value in values], each.pk) for each in objects]
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(statement, rows)


def _is_moment(field: "models.Field[Any, Any]") -> bool:
    return bool(getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False))


def _inserted(field: "models.Field[Any, Any]", now: Any) -> Callable[[models.Model], Any]:
    """Return a function that reads one column's value from a new object."""
    if _is_moment(field):
        moment = field.get_db_prep_save(now, connection)
        return lambda each: moment
    return _getter(field)


def _getter(field: "models.Field[Any, Any]") -> Callable[[models.Model], Any]:
    """Return a function that reads one column's value from an object."""
    name = field.attname
    # A foreign key needs no conversion where its target needs none.
    if isinstance(getattr(field, "target_field", field), PLAIN):
        return lambda each: each.__dict__[name]

    def read(each: models.Model) -> Any:
        value = each.__dict__[name]
        return None if value is None else field.get_db_prep_save(value, connection)

    return read


def insert_rows(model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows with these columns, by the names of the model's attributes. The values must need no conversion.

    PostgreSQL inserts by COPY, SQLite by multi-row statements. Names come from the models, never from input.
    """
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {_columns_of(model, columns)} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            return
        insert, slots, many = _statement(model, columns)
        waiting = iter(rows)
        while held := list(islice(waiting, many)):
            cursor.execute(insert + ", ".join([slots] * len(held)), list(chain.from_iterable(held)))


def _columns_of(model: type[models.Model], columns: Sequence[str]) -> str:
    """The table with its columns, as SQL."""
    names = ", ".join(connection.ops.quote_name(column) for column in columns)
    return f"{connection.ops.quote_name(model._meta.db_table)} ({names})"


def _statement(model: type[models.Model], columns: Sequence[str]) -> tuple[str, str, int]:
    """The start of a statement that inserts rows, the placeholders of a row, and how many rows to insert at once."""
    insert = f"INSERT INTO {_columns_of(model, columns)} VALUES "  # noqa: S608 - names of models
    return insert, f"({', '.join(['%s'] * len(columns))})", max(1, AT_ONCE // len(columns))


# Many rows, one list of them in memory at a time.


def in_batches(rows: "models.QuerySet[Any, Any]", size: int, by: str = "pk") -> Iterator[list[Any]]:
    """Yield the rows of a query in lists of at most `size`, by a column that no two rows share.

    Rows of `values_list` begin with the column, and rows of `values` have it. No cursor stays open on the server: the
    garbage collector may close one that a generator left behind during another query, which hangs on PostgreSQL.
    """
    left = rows.order_by(by)
    while batch := list(left[:size]):
        yield batch
        row = batch[-1]
        last = row[0] if isinstance(row, tuple) else row[by] if isinstance(row, dict) else getattr(row, by)
        left = rows.filter(**{f"{by}__gt": last}).order_by(by)


def batched(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """Yield rows that are read already, or come one by one, in lists of at most `size`."""
    left = iter(rows)
    while batch := list(islice(left, size)):
        yield batch


def page_edges(keys: Sequence[Row], *, after: object, before: object, more: bool) -> tuple[Row | None, Row | None]:
    """Return the keys from which the previous and the next page start; None where there is none.

    `keys` are those of the page's rows in order, after the key `after` or before `before`; without both, the page is
    the first one. `more`: there are rows beyond the page.
    """
    has_previous = more if before is not None else after is not None
    has_next = before is not None or more
    return keys[0] if keys and has_previous else None, keys[-1] if keys and has_next else None


# Many values in one condition: the database gets them as one parameter.


def among(values: Iterable[Value]) -> RawSQL | list[Value]:
    """Texts or ids for a lookup with `in`. Django prepares each value of a list alone, which takes twice as long."""
    listed = list(values)
    if not listed:
        return listed
    if connection.vendor == "postgresql":
        kind = "bigint" if isinstance(listed[0], int) else "text"
        return RawSQL(f"SELECT unnest(%s::{kind}[])", (listed,))  # noqa: S611 - the type is one of two of ours
    return RawSQL("SELECT value FROM json_each(%s)", (json.dumps(listed),))


# The garbage collector during work that makes many small objects.


@contextmanager
def collector_paused() -> Iterator[None]:
    """Run a short piece of work, such as one batch of notes, without the garbage collector.

    Objects without cycles are freed at once all the same. Each full collection looks at everything that the process has
    loaded; a batch of a release takes a fifth less time without it (docs/release.md).
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
