"""Read and write files of records: JSON Lines, JSON and Parquet. One record, or one batch of rows, is in memory.

pyarrow is imported where it is used: it starts threads, and most processes never need it.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, Final, Protocol

from annotations.core.services import ServiceError
from annotations.records.rules.plans import COLUMN, FORMATS, ROWS, Timestamp, Unreadable

MOST_BYTES: Final = 512 * 1024 * 1024
"""A JSON file is read at once, so that a larger one must be JSON Lines."""


def format_of(path: Path) -> str:
    """The format of a file by its ending. Raises ServiceError `format`."""
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        raise ServiceError(f"“{path.name}” has none of the endings {', '.join(FORMATS)}. Rename it.", code="format")
    return found


def read_records(path: Path) -> Iterator[tuple[str, Any]]:
    """The records of a file, with where each stands: a line, an item or a row from 1. Raises ServiceError `path`."""
    try:
        kind = format_of(path)
        if kind == "ndjson":
            with path.open("rb") as lines:
                yield from _lines(lines)
        elif kind == "json":
            yield from _items(path)
        else:
            yield from _rows(path)
    except OSError as error:
        raise ServiceError(f"Can't read “{path}”: {error.strerror or 'not such a file'}.", code="path") from error


def _lines(lines: IO[bytes]) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield f"line {number}", parsed(line)


def _items(path: Path) -> Iterator[tuple[str, Any]]:
    if path.stat().st_size > MOST_BYTES:
        raise ServiceError(f"“{path.name}” is too large for JSON. Save it as JSON Lines (.ndjson).", code="path")
    found = parsed(path.read_bytes())
    if isinstance(found, Unreadable):
        raise ServiceError(f"“{path.name}” is not JSON in UTF-8. Correct the file.", code="path")
    for number, one in enumerate(found if isinstance(found, list) else [found], start=1):
        yield f"item {number}", one


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    import pyarrow.parquet

    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(ROWS):
                for row in batch.to_pylist():
                    number += 1
                    if COLUMN in row and isinstance(row[COLUMN], str | bytes):
                        yield f"row {number}", parsed(row[COLUMN])
                    else:
                        yield f"row {number}", _plain(row)
    except pyarrow.ArrowInvalid as error:
        raise ServiceError(f"“{path.name}” is not a Parquet file that can be read.", code="path") from error


def parsed(text: str | bytes) -> Any:
    """A JSON value; Unreadable if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return Unreadable("This is not JSON in UTF-8.")


def _plain(value: Any) -> Any:
    """A row of Parquet as JSON has it. What is null is left out."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, datetime):
        return Timestamp(value.isoformat())
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


class RecordWriter(Protocol):
    """Writes records one by one; `close` ends the file."""

    def write(self, record: Any) -> None: ...

    def close(self) -> None: ...


class _TextWriter:
    """Writes records as JSON, with something before the first one, between two and after the last one."""

    def __init__(self, file: IO[bytes], before: bytes, between: bytes, after: bytes, nothing: bytes) -> None:
        """`nothing`: what a file without records holds."""
        self._file, self._next, self._between, self._end, self._after = file, before, between, nothing, after

    def write(self, record: Any) -> None:
        self._file.write(self._next + json.dumps(record, ensure_ascii=False).encode())
        self._next, self._end = self._between, self._after

    def close(self) -> None:
        self._file.write(self._end)


class _ParquetWriter:
    """Writes a column of JSON texts."""

    def __init__(self, file: IO[bytes]) -> None:
        import pyarrow.parquet

        self._schema = pyarrow.schema([(COLUMN, pyarrow.string())])
        self._batch = pyarrow.RecordBatch.from_pydict
        self._writer = pyarrow.parquet.ParquetWriter(file, self._schema)
        self._texts: list[str] = []

    def write(self, record: Any) -> None:
        self._texts.append(json.dumps(record, ensure_ascii=False))
        if len(self._texts) >= ROWS:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_batch(self._batch({COLUMN: self._texts}, schema=self._schema))
        self._texts = []

    def close(self) -> None:
        if self._texts:
            self._flush()
        self._writer.close()


def writer_for(kind: str, file: IO[bytes], *, alone: bool = False) -> RecordWriter:
    """A writer of one of FORMATS into an open file. `alone`: the only record of a JSON file is no list."""
    if kind == "parquet":
        return _ParquetWriter(file)
    if kind == "json":
        return _TextWriter(file, b"", b"", b"", b"") if alone else _TextWriter(file, b"[\n", b",\n", b"\n]\n", b"[]\n")
    return _TextWriter(file, b"", b"\n", b"\n", b"")


def is_single(path: Path) -> bool:
    """Whether a JSON file holds one object instead of a list."""
    if format_of(path) != "json":
        return False
    with path.open("rb") as file:
        return not file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name when the block ends, and not at all if it fails.

    Raises ServiceError `out` if there is one already.
    """
    if path.exists():
        raise ServiceError(f"“{path}” exists. Nothing was written. Choose another name.", code="out")
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.rename(path)
    except OSError as error:
        raise ServiceError(f"Can't write “{path}”: {error.strerror}.", code="out") from error
    finally:
        part.unlink(missing_ok=True)
