"""Many spans at once: plain rows to the database, past the ORM's per-object cost."""

from collections.abc import Iterable
from typing import NamedTuple

from django.db import connection

COLUMNS = ("annotation_set_id", "start", "end", "label_id", "confidence", "source", "provenance")
_QUOTED = ", ".join(f'"{column}"' for column in COLUMNS)


class SpanRow(NamedTuple):
    """One row of the span table; `provenance` is JSON text. Bounds in code points, end-exclusive."""

    annotation_set_id: int
    start: int
    end: int
    label_id: int
    confidence: float | None = None
    source: str = ""
    provenance: str | None = None


def insert_spans(rows: Iterable[SpanRow]) -> None:
    """Insert inside the caller's transaction: COPY on PostgreSQL, one prepared statement on SQLite."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY annotations_span ({_QUOTED}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            return
        marks = ", ".join(["%s"] * len(COLUMNS))
        # The names are constants of this module, never input.
        cursor.executemany(f"INSERT INTO annotations_span ({_QUOTED}) VALUES ({marks})", list(rows))  # noqa: S608
