"""Many rows at once: plain tuples to the database, past the ORM's cost for each object."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from django.db import connection, models
from django.utils import timezone

from annotations.models import Span


class SpanRow(NamedTuple):
    """One row of the span table; `provenance` is JSON text. Bounds in code points, end-exclusive.

    `raw_confidence` is what the backend said where `confidence` is calibrated.
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


# What the database takes as it is.
PLAIN = (models.CharField, models.TextField, models.IntegerField, models.BooleanField)


def insert_spans(rows: Iterable[SpanRow]) -> None:
    """Inside the caller's transaction."""
    _insert(Span, SpanRow._fields, rows)


def insert_objects(model: type[models.Model], objects: Iterable[models.Model]) -> None:
    """New rows as `bulk_create` makes them, several times as fast. The objects don't learn their keys."""
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    now = timezone.now()
    values = [_reader(field, now) for field in fields]
    rows = (tuple(value(each) for value in values) for each in objects)
    _insert(model, [field.attname for field in fields], rows)


def _reader(field: "models.Field[Any, Any]", now: Any) -> Callable[[models.Model], Any]:
    """How to read one column's value from an object."""
    name = field.attname
    if getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False):
        moment = field.get_db_prep_save(now, connection)
        return lambda each: moment
    # A foreign key is as plain as what it points to.
    if isinstance(getattr(field, "target_field", field), PLAIN):
        return lambda each: each.__dict__[name]
    return lambda each: field.get_db_prep_save(each.__dict__[name], connection)


def _insert(model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """COPY on PostgreSQL, one prepared statement on SQLite. Names are the models' own, never input."""
    table = connection.ops.quote_name(model._meta.db_table)
    names = ", ".join(connection.ops.quote_name(column) for column in columns)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            return
        marks = ", ".join(["%s"] * len(columns))
        cursor.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(rows))  # noqa: S608
