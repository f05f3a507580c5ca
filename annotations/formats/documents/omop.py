"""Tables of notes as CSV or Parquet, a note for each row.

These are the table NOTE of the OMOP Common Data Model (OHDSI, CDM 5.4), NOTEEVENTS of MIMIC-III, the notes of MIMIC-IV,
and others with columns of these names. Rows are read as a stream. A note is named by its number or name, and its
patient is the person or subject.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, NamedTuple, TextIO

from annotations.formats.documents.base import DocumentSource, Draft, PartKind, Result, refused, stem
from annotations.formats.documents.texts import DetectedEncoding, note_encoding, open_text
from annotations.formats.files import csv_reading

_IDS: Final = ("note_id", "row_id", "document_id", "doc_id", "id", "note", "name", "file_name", "filename")
_TEXTS: Final = ("note_text", "text", "report_text", "document_text", "note")
_PERSONS: Final = ("person_id", "subject_id", "patient_id", "patient")
_OF_SPANS: Final = frozenset({"start", "begin", "start_offset", "label"})
"""Columns of tables with spans, which are a format of annotations."""
_BATCH: Final = 256
_SEPARATORS: Final = ",\t;|"


class _Columns(NamedTuple):
    """The names of the columns in lower case; `person` is empty without such a column."""

    id: str
    text: str
    person: str


def _columns(names: Iterable[str]) -> _Columns | None:
    """The columns of a table of notes; None if it is none."""
    given = set(names)
    text = next((name for name in _TEXTS if name in given), "")
    identity = next((name for name in _IDS if name in given and name != text), "")
    person = next((name for name in _PERSONS if name in given), "")
    return _Columns(identity, text, person) if text and identity and not given & _OF_SPANS else None


def has_note_columns(head: bytes) -> bool:
    """Whether the first line of a CSV names the columns of a note."""
    line = head.replace(b"\0", b"").split(b"\n", 1)[0].decode("ascii", "ignore").lower()
    return _columns(cell.strip("\"' \r") for cell in re.split(f"[{_SEPARATORS}]", line)) is not None


def read_csv(source: DocumentSource) -> Iterator[Draft | Result]:
    """The notes of a CSV file with any of the separators comma, tab, semicolon and bar."""
    lines, found = open_text(source.file, source.encoding, file=source.name)
    try:
        yield from _notes(source, _rows(lines, source), found)
    finally:
        lines.detach()


_Cells = tuple[Any, Any, Any]
"""The id, the text and the person of a row."""


def _rows(lines: TextIO, source: DocumentSource) -> Iterator[tuple[int, _Cells]]:
    """The line on which each row ends, and its cells."""
    line = 1
    try:
        first = lines.readline()
        rows = csv_reading.DictReader(chain([first], lines), delimiter=max(_SEPARATORS, key=first.count), strict=True)
        names = {(name or "").strip().lower(): name for name in rows.fieldnames or ()}
        columns = _checked(names, source)
        while (row := next(rows, None)) is not None:
            line = rows.line_num
            yield line, _cells(row, names, columns)
    except csv_reading.Error:
        message = "The row after this line is not valid CSV: check its quotation marks. Rows before it were read."
        raise refused(source.name, "csv", message, line) from None
    except UnicodeDecodeError as error:
        message = (
            f"The text after this line is not {error.encoding}. Choose another encoding. Rows before it were read."
        )
        raise refused(source.name, "encoding", message, line) from None


def read_parquet(source: DocumentSource) -> Iterator[Draft | Result]:
    """The notes of a Parquet file."""
    import pyarrow
    from pyarrow import parquet

    source.file.seek(0)
    try:
        file = parquet.ParquetFile(source.file, pre_buffer=False)
        names = {name.strip().lower(): name for name in file.schema_arrow.names}
        columns = _checked(names, source)
        read = [names[name] for name in columns if name]
        found = (row for batch in file.iter_batches(_BATCH, columns=read) for row in batch.to_pylist())
        rows = ((number, _cells(row, names, columns)) for number, row in enumerate(found, 1))
        yield from _notes(source, rows, None)
    except (pyarrow.ArrowException, OSError):
        message = "The file is not a complete Parquet file. Write it again, or save it as CSV."
        raise refused(source.name, "parquet", message) from None


def _checked(names: Iterable[str], source: DocumentSource) -> _Columns:
    if (found := _columns(names)) is None:
        message = "This is not a table of notes: it needs the columns note_id (or row_id, id) and note_text (or text)."
        raise refused(source.name, "columns", message, 1)
    return found


def _cells(row: Mapping[str, Any], names: Mapping[str, str], columns: _Columns) -> _Cells:
    identity, text, person = (row.get(names[name]) if name else None for name in columns)
    return identity, text, person


def _notes(
    source: DocumentSource, rows: Iterable[tuple[int, _Cells]], found: DetectedEncoding | None
) -> Iterator[Draft | Result]:
    seen: set[str] = set()
    at_all = False
    for line, (identity, text, person) in rows:
        at_all = True
        note_id = "" if identity is None else str(identity).strip()
        if not note_id or note_id in seen:
            message = "The row has no id of a note." if not note_id else "Another row before has the same id."
            yield refused(source.name, "note_id", f"{message} The note was left out.", line)
            continue
        seen.add(note_id)
        if not isinstance(text, str) or not text.strip():
            yield refused(source.name, "no text", "The row has no text. The note was left out.", line)
            continue
        draft = Draft(source, f"{stem(source.name)}/{note_id.replace('/', '-')}")
        if found is not None:
            note_encoding(draft, found)
        draft.patient_id = "" if person is None else str(person).strip()
        draft.add(text, PartKind.ROW, line)
        yield draft
    if not at_all:
        raise refused(source.name, "no rows", "The table has no rows.")
