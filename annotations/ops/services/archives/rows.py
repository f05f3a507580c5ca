"""The rows of an archive: read and checked in batches, and inserted into the tables of one project."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from django.db import DataError, IntegrityError, connection, models, transaction

from annotations.core.bulk import insert_rows
from annotations.formats.files.archives import ArchiveError, ArchiveReader
from annotations.models import Project
from annotations.ops.services.archives.columns import MISSING, Column
from annotations.ops.services.archives.keys import Bad, Keys

BATCH: Final = 200
Row = dict[str, Any]
Lines = list[tuple[int, Row]]


def at(name: str, line: int, read: Callable[..., Any], *values: Any) -> Any:
    """Call `read`, and say where the row is if it can't be taken."""
    try:
        return read(*values)
    except Bad as error:
        raise ArchiveError(f"The row {error}.", file=name, line=line) from None


class Rows:
    """Reads the rows of an archive and stores them in one project, inside the caller's transaction."""

    def __init__(self, archive: ArchiveReader, project: Project) -> None:
        self.archive, self.project = archive, project
        self.keys = Keys(project)

    def values(self, name: str, line: int, columns: Sequence[Column], row: Any) -> Row:
        """The values of a row by attribute, ready to be stored."""
        if not isinstance(row, dict):
            raise ArchiveError("The row must be an object.", file=name, line=line)
        keys = self.keys
        found: Row = {}
        taken = 0
        for key, _path, attname, _out, into, default in columns:
            value = row.get(key, default)
            if value is MISSING:
                raise ArchiveError(f"The row lacks “{key}”.", file=name, line=line)
            taken += key in row
            try:
                stored = into(keys, value)
            except Bad as error:
                raise ArchiveError(f"“{key}” {error}.", file=name, line=line) from None
            if attname:
                found[attname] = stored
        if taken < len(row):
            unknown = set(row) - {column.key for column in columns}
            shown = ", ".join(sorted(key for key in unknown if key.isidentifier())[:5])
            raise ArchiveError(f"The row has unknown keys: {shown}.", file=name, line=line)
        note = keys.note
        start, end = found.get("start"), found.get("end")
        if note is not None and start is not None and end is not None and not start <= end <= note.length:
            raise ArchiveError("“start” and “end” must be within the note.", file=name, line=line)
        return found

    def batches(self, name: str) -> Iterator[Lines]:
        yield from some(self.archive.rows(name))

    def insert(self, name: str, model: type[models.Model], rows: list[tuple[int, Row]]) -> None:
        if not rows:
            return
        columns = list(rows[0][1])
        found = ([row[column] for column in columns] for _line, row in rows)
        self.guarded(name, [line for line, _row in rows], lambda: insert_rows(model, columns, found))

    def guarded(self, name: str, lines: list[int], write: Callable[[], object]) -> None:
        """Write, and say where the rows are that the database refuses. Its own message may quote a note."""
        try:
            # A COPY on PostgreSQL raises the driver's own errors.
            with transaction.atomic(), connection.wrap_database_errors:
                write()
        except (IntegrityError, DataError):
            raise ArchiveError(
                f"Two rows are the same, or a row contradicts another one (lines {lines[0]} to {lines[-1]}).",
                file=name, line=lines[0],
            ) from None  # fmt: skip


def some(rows: Iterable[Any]) -> Iterator[list[Any]]:
    waiting = iter(rows)
    while batch := list(islice(waiting, BATCH)):
        yield batch
