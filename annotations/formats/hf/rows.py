"""The rows of a data set's files, one at a time: Parquet, Arrow streams, and JSON lines."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import IO, Any, Final

from annotations.formats.files.json_files import JsonError, json_records, read_json
from annotations.formats.notes import Loss, NoteError, OutNote, Problem, check_name
from annotations.formats.span_rules import given_spans
from annotations.formats.token_tags import words_of
from annotations.text.bio import OUTSIDE, encode
from annotations.text.labels import CODE
from annotations.text.spans import Span, Tokenizer
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

# The features of a data set: the types of its columns, and the names of class labels.
#
# They are in the metadata of Parquet and Arrow files under the key `huggingface`, and beside other files in
# `dataset_info.json`, `dataset_infos.json` or the data set card `README.md`. Sources:
# https://huggingface.co/docs/datasets/about_dataset_features and
# https://github.com/huggingface/datasets/blob/main/src/datasets/features/features.py.


KEY: Final = b"huggingface"
BESIDE: Final = ("dataset_info.json", "dataset_infos.json", "README.md")
"""The names of files that describe a data set, in the order in which they are asked."""
_CARD: Final = re.compile(r"\A---\n(.*?)\n---", re.DOTALL)
_COLUMN: Final = re.compile(r"^(\s*)- name: *['\"]?([\w-]+)['\"]? *$", re.MULTILINE)
_NAMES: Final = re.compile(r"^\s*names: *$\n((?:^\s+(?:['\"]?\d+['\"]?:|-) .+\n?)+)", re.MULTILINE)
_ENTRY: Final = re.compile(r"^\s+(?:['\"]?\d+['\"]?:|-) *(.+?) *$", re.MULTILINE)

Names = dict[str, list[str]]
"""The names of class labels by column."""


def class_names(labels: Mapping[str, str]) -> list[str]:
    """The class labels for BIO tags of the labels that are written."""
    codes = [code for code in dict.fromkeys(labels.values()) if CODE.fullmatch(code)]
    return [OUTSIDE, *(f"{mark}-{code}" for code in codes for mark in "BI")]


def written_features(names: Sequence[str]) -> bytes:
    """The features of the files that are written, for their metadata; lists as all versions of `datasets` know them."""
    string, number = {"dtype": "string", "_type": "Value"}, {"dtype": "int32", "_type": "Value"}
    span = {"start": number, "end": number, "label": string, "attributes": string}
    features = {
        "name": string,
        "text": string,
        "tokens": [string],
        "token_starts": [number],
        "token_ends": [number],
        "ner_tags": [{"names": list(names), "_type": "ClassLabel"}],
        "spans": [span],
    }
    return json.dumps({"info": {"features": features}}).encode()


def names_in_metadata(metadata: Mapping[bytes, bytes] | None) -> Names:
    """The names in the metadata of a file; nothing if there are none."""
    return _of_info((metadata or {}).get(KEY, b"{}"))


def names_beside(data: bytes) -> Names:
    """The names in a file of BESIDE."""
    card = _CARD.match(data.decode(errors="replace").replace("\r\n", "\n"))
    return dict(_of_card(card[1])) if card else _of_info(data)


def _of_info(data: bytes) -> Names:
    try:
        found: Any = read_json(data)
    except JsonError:
        return {}
    names: Names = {}
    while isinstance(found, dict) and "features" not in found:
        # The metadata has the features under `info`, `dataset_infos.json` under the name of a configuration.
        found = found.get("info", next(iter(found.values()), None))
    features = found.get("features") if isinstance(found, dict) else None
    for column, feature in features.items() if isinstance(features, dict) else ():
        while isinstance(feature, list | dict) and feature:
            if isinstance(feature, list):
                feature = feature[0]
                continue
            given = feature.get("names")
            if isinstance(given, list) and all(isinstance(name, str) for name in given):
                names[column] = given
            feature = feature.get("feature")
    return names


def _of_card(card: str) -> Iterator[tuple[str, list[str]]]:
    """The names of the class labels of each column in the YAML of a data set card."""
    columns = list(_COLUMN.finditer(card))
    for column, after in zip(columns, [*columns, None][1:], strict=True):
        found = _NAMES.search(card, column.end(), after.start() if after else len(card))
        if found:
            yield column[2], [entry.strip("'\"") for entry in _ENTRY.findall(found[1])]


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
            yield line, _("The record is not an object. Expected: an object with “tokens” and “ner_tags”.")


def _broken(file: str) -> NoteError:
    message = _(
        "The file can't be read: it is damaged, or not of the kind that its ending says. Save the data set again."
    )
    return NoteError([Problem(file, None, "file", message)])


# Writing of Parquet files, in groups of rows of limited size.


_MOST_CHARACTERS: Final = 4_000_000
_MOST_ROWS: Final = 1000
_NOT_A_CLASS: Final = gettext_noop("The label is not in the label set of the export, which gives the class labels.")


class Writer:
    """Writes one file; `add` each note, then `close`."""

    def __init__(self, out: IO[bytes], labels: Mapping[str, str], tokenizer: Tokenizer) -> None:
        import pyarrow
        from pyarrow import parquet

        names = class_names(labels)
        self._labels = labels
        self._tokenizer = tokenizer
        self._numbers = {name: number for number, name in enumerate(names)}
        self._order = tuple(labels.values())
        self._schema = _schema().with_metadata({KEY: written_features(names)})
        self._writer = parquet.ParquetWriter(out, self._schema)
        self._table = pyarrow.Table
        self._rows: list[dict[str, Any]] = []
        self._size = 0

    def add(self, note: OutNote) -> list[Loss]:
        name = check_name(note.name)
        given, losses = given_spans(note, self._labels)
        losses += [Loss(name, span, _(_NOT_A_CLASS)) for span, code in given if f"B-{code}" not in self._numbers]
        given = [(span, code) for span, code in given if f"B-{code}" in self._numbers]
        spans = [Span(span.start, span.end, code) for span, code in given]
        encoded = encode(note.text, spans, label_order=self._order, tokenizer=self._tokenizer)
        starts, ends = zip(*encoded.tokens, strict=True) if encoded.tokens else ((), ())
        row = {
            "name": name,
            "text": note.text,
            "tokens": words_of(note.text, encoded.tokens),
            "token_starts": starts,
            "token_ends": ends,
            "ner_tags": [self._numbers[tag] for tag in encoded.tags],
            "spans": [
                {"start": span.start, "end": span.end, "label": code, "attributes": _json(span)} for span, code in given
            ],
        }
        self._rows.append(row)
        self._size += len(note.text)
        if self._size > _MOST_CHARACTERS or len(self._rows) >= _MOST_ROWS:
            self._flush()
        return losses

    def close(self) -> None:
        """Complete the file."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            columns = [[row[name] for row in self._rows] for name in self._schema.names]
            self._writer.write_table(
                self._table.from_pydict(dict(zip(self._schema.names, columns, strict=True)), self._schema)
            )
        self._rows, self._size = [], 0


def _json(span: Span) -> str:
    return json.dumps(dict(span.attributes), ensure_ascii=False) if span.attributes else ""


def _schema() -> Any:
    import pyarrow

    string, numbers = pyarrow.string(), pyarrow.list_(pyarrow.int32())
    span = {"start": pyarrow.int32(), "end": pyarrow.int32(), "label": string, "attributes": string}
    return pyarrow.schema(
        {
            "name": string,
            "text": string,
            "tokens": pyarrow.list_(string),
            "token_starts": numbers,
            "token_ends": numbers,
            "ner_tags": pyarrow.list_(pyarrow.int64()),
            "spans": pyarrow.list_(pyarrow.struct(span)),
        }
    )
