"""Writing of Parquet files, in groups of rows of limited size."""

import json
from collections.abc import Mapping
from typing import IO, Any, Final

from annotations.formats.base import Loss, OutNote
from annotations.formats.giving import given_spans
from annotations.formats.hf.features import KEY, class_names, written_features
from annotations.formats.notes import check_name
from annotations.formats.tags import words_of
from annotations.text.bio import encode
from annotations.text.spans import Span
from annotations.text.tokens import Tokenizer

_MOST_CHARACTERS: Final = 4_000_000
_MOST_ROWS: Final = 1000
_NOT_A_CLASS: Final = "The label is not in the label set of the export, which gives the class labels."


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
        """See `Sink`."""
        name = check_name(note.name)
        given, losses = given_spans(note, self._labels)
        losses += [Loss(name, span, _NOT_A_CLASS) for span, code in given if f"B-{code}" not in self._numbers]
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
