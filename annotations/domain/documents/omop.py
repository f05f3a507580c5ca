"""The table NOTE of the OMOP Common Data Model (OHDSI, CDM 5.4), as CSV or Parquet: a note for each row.

Rows are read as a stream. A note is named by its `note_id`, and its patient is the `person_id`.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, TextIO

from annotations.domain.documents.base import Draft, PartKind, Result, Source, refused, stem
from annotations.domain.documents.encodings import Found, open_text
from annotations.domain.documents.text import note_encoding
from annotations.domain.files import csv_reading

ID: Final = "note_id"
TEXT: Final = "note_text"
PERSON: Final = "person_id"
_BATCH: Final = 256
_SEPARATORS: Final = ",\t;|"


def has_note_columns(head: bytes) -> bool:
    """Whether the first line of a CSV names the columns of a note."""
    line = head.replace(b"\0", b"").split(b"\n", 1)[0].lower()
    return ID.encode() in line and TEXT.encode() in line


def read_csv(source: Source) -> Iterator[Draft | Result]:
    """The notes of a CSV file with any of the separators comma, tab, semicolon and bar."""
    lines, found = open_text(source.file, source.encoding, file=source.name)
    try:
        yield from _notes(source, _rows(lines, source), found)
    finally:
        lines.detach()


def _rows(lines: TextIO, source: Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The line on which each row ends, and its values by lower-case name of the column."""
    line = 1
    try:
        first = lines.readline()
        rows = csv_reading.DictReader(chain([first], lines), delimiter=max(_SEPARATORS, key=first.count), strict=True)
        names = {(name or "").strip().lower(): name for name in rows.fieldnames or ()}
        _check_columns(names, source)
        while (row := next(rows, None)) is not None:
            line = rows.line_num
            yield line, {lower: row.get(name) for lower, name in names.items()}
    except csv_reading.Error:
        message = "The row after this line is no CSV: check its quotation marks. Rows before it were read."
        raise refused(source.name, "csv", message, line) from None
    except UnicodeDecodeError as error:
        message = (
            f"The text after this line is not {error.encoding}. Choose another encoding. Rows before it were read."
        )
        raise refused(source.name, "encoding", message, line) from None


def read_parquet(source: Source) -> Iterator[Draft | Result]:
    """The notes of a Parquet file."""
    import pyarrow
    from pyarrow import parquet

    source.file.seek(0)
    try:
        file = parquet.ParquetFile(source.file, pre_buffer=False)
        names = {name.strip().lower(): name for name in file.schema_arrow.names}
        _check_columns(names, source)
        columns = [names[name] for name in (ID, TEXT, PERSON) if name in names]
        rows = (
            (number, {lower: row.get(name) for lower, name in names.items()})
            for number, row in enumerate(
                (row for batch in file.iter_batches(_BATCH, columns=columns) for row in batch.to_pylist()), 1
            )
        )
        yield from _notes(source, rows, None)
    except (pyarrow.ArrowException, OSError):
        raise refused(
            source.name, "parquet", "The file is no complete Parquet file. Write it again, or save it as CSV."
        ) from None


def _check_columns(names: Mapping[str, str], source: Source) -> None:
    missing = [name for name in (ID, TEXT) if name not in names]
    if missing:
        message = f"The table has no column {' and no column '.join(missing)}, so it is not the OMOP table NOTE."
        raise refused(source.name, "columns", message, 1)


def _notes(
    source: Source, rows: Iterable[tuple[int, Mapping[str, Any]]], found: Found | None
) -> Iterator[Draft | Result]:
    seen: set[str] = set()
    at_all = False
    for line, row in rows:
        at_all = True
        text, note_id = row.get(TEXT), str(row.get(ID) if row.get(ID) is not None else "").strip()
        if not note_id or note_id in seen:
            message = "The row has no note_id." if not note_id else "Another row before has the same note_id."
            yield refused(source.name, "note_id", f"{message} The note was left out.", line)
            continue
        seen.add(note_id)
        if not isinstance(text, str) or not text.strip():
            yield refused(source.name, "no text", "The row has no note_text. The note was left out.", line)
            continue
        draft = Draft(source, f"{stem(source.name)}/{note_id.replace('/', '-')}")
        if found is not None:
            note_encoding(draft, found)
        person = row.get(PERSON)
        draft.patient_id = "" if person is None else str(person).strip()
        draft.add(text, PartKind.ROW, line)
        yield draft
    if not at_all:
        raise refused(source.name, "no rows", "The table has no rows.")
