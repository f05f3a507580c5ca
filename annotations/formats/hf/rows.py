"""The rows of a data set's files, one at a time: Parquet, Arrow streams, and JSON lines."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import IO, Any, Final

from annotations.formats.files.json_records import json_records
from annotations.formats.files.strict_json import JsonError
from annotations.formats.hf.features import Names, names_in_metadata
from annotations.formats.notes import NoteError, Problem

TEXT: Final = ("text",)
TOKENS: Final = ("tokens", "words")
TAGS: Final = ("ner_tags", "tags", "labels", "ner")
NAME: Final = ("name", "id")
OTHERS: Final = ("token_starts", "token_ends", "spans")
COLUMNS: Final = frozenset((*TEXT, *TOKENS, *TAGS, *NAME, *OTHERS))
"""All columns that are read."""
_AT_ONCE: Final = 32
_BUFFER: Final = 1 << 18
"""Bytes of a column that are read at once, so that a large group of rows is not held whole."""
_FAULTS: Final = (KeyError, MemoryError, OSError, OverflowError, TypeError, ValueError)

Row = Mapping[str, Any]
Rows = Iterator[tuple[int | None, Row | str]]
"""Each row with its line, if the file has lines; a message takes the place of a row that can't be read."""


def opened(stream: IO[bytes], file: str) -> tuple[Rows, Names]:
    """The rows of a file, and the names of class labels in its metadata. Raises NoteError, also while iterating."""
    ending = file.rpartition(".")[2].lower()
    if ending not in ("parquet", "arrow"):
        return _json_rows(stream), {}
    import pyarrow

    try:
        found, metadata = _parquet(stream) if ending == "parquet" else _arrow(stream)
        return _rows(found, file), names_in_metadata(metadata)
    except (*_FAULTS, pyarrow.ArrowException) as error:
        raise _broken(file) from error


def _parquet(stream: IO[bytes]) -> tuple[Iterator[Any], Mapping[bytes, bytes] | None]:
    from pyarrow import parquet

    found = parquet.ParquetFile(stream, buffer_size=_BUFFER)
    schema = found.schema_arrow
    columns = [name for name in schema.names if name in COLUMNS]
    return found.iter_batches(_AT_ONCE, columns=columns, use_threads=False), schema.metadata


def _arrow(stream: IO[bytes]) -> tuple[Iterator[Any], Mapping[bytes, bytes] | None]:
    from pyarrow import ipc

    found = ipc.open_stream(stream)
    columns = [name for name in found.schema.names if name in COLUMNS]
    pieces = (batch.slice(at, _AT_ONCE).select(columns) for batch in found for at in range(0, batch.num_rows, _AT_ONCE))
    return pieces, found.schema.metadata


def _rows(batches: Iterator[Any], file: str) -> Rows:
    import pyarrow

    try:
        for batch in batches:
            names = batch.schema.names
            for row in zip(*map(_values, batch.columns), strict=True):
                yield None, dict(zip(names, row, strict=True))
    except (*_FAULTS, pyarrow.ArrowException) as error:
        raise _broken(file) from error


def _values(column: Any) -> list[Any]:
    """The values of a column. Lists are made of all their values at once, several times as fast as one by one."""
    import pyarrow

    if not pyarrow.types.is_list(column.type) or column.null_count or column.values.null_count:
        return list(column.to_pylist())
    first = column.offsets[0].as_py()
    flat = column.flatten()
    simple = pyarrow.types.is_integer(flat.type)
    values = flat.to_numpy(zero_copy_only=False).tolist() if simple else flat.to_pylist()
    edges = [offset - first for offset in column.offsets.to_numpy().tolist()]
    return [values[start:end] for start, end in pairwise(edges)]


def _json_rows(stream: IO[bytes]) -> Rows:
    for line, value in json_records(stream):
        if isinstance(value, JsonError):
            yield line, str(value)
        elif isinstance(value, dict):
            yield line, value
        else:
            yield line, "The record is not an object. Expected: an object with “tokens” and “ner_tags”."


def _broken(file: str) -> NoteError:
    message = "The file can't be read: it is damaged, or not of the kind that its ending says. Save the data set again."
    return NoteError([Problem(file, None, "file", message)])
