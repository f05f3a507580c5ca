"""Reading as a pure function over Arrow record batches, which a pool of processes, Spark or Ray can drive.

A row of the input is a text with an id; a row of the answer is that id, the spans, and the reason if the text could not
be read. Nothing is kept between batches except the loaded backend, so a batch may be read again, anywhere, and gives
the same answer on the same kind of device.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow

from annotations.text.spans import Span, estimated, renamed
from annotations.text.wording import gettext_noop
from models_runtime.backends.base import Backend, BackendError, blocks, budget_of, each_alone, load
from models_runtime.backends.marginals import GivesMarginals, ThresholdBackend

ROWS: Final = 1000
"""The most rows of an answer. Spark and Ray may send larger batches; they are read in parts."""
SPAN: Final = pyarrow.struct(
    [
        ("start", pyarrow.int32()),
        ("end", pyarrow.int32()),
        ("label", pyarrow.string()),
        ("confidence", pyarrow.float64()),
    ]
)
SCHEMA: Final = pyarrow.schema([("id", pyarrow.string()), ("spans", pyarrow.list_(SPAN)), ("error", pyarrow.string())])
"""The answer. Offsets are code points, end-exclusive. `spans` and `error`: one of them is null."""
SPARK_SCHEMA: Final = (
    "id string, spans array<struct<start: int, end: int, label: string, confidence: double>>, error string"
)
"""SCHEMA as Spark's `mapInArrow` takes it."""
NO_TEXT: Final = gettext_noop("This row has no text.")
NOT_UTF8: Final = gettext_noop("The text of this row is not UTF-8.")
FINAL: Final = (NO_TEXT, NOT_UTF8)
"""Errors of the input. Reading such a row again can't help; with another error, it may."""
HOPELESS: Final = 8
"""If so many texts of a group fail and no text is read, the fault is the backend's, as with a GPU that has failed."""

_Answer = tuple[list[Span] | None, str | None]


@dataclass(frozen=True)
class BatchReader:
    """Reads record batches with the backend `factory(**params)`, which each process loads once.

    `params` are plain JSON values. `id` and `text` name the columns of the input. `codes` maps each label that spans
    may have to the label to write, such as one that it was merged into; spans with other labels are left out. Without
    `codes`, all spans are written as they are. `threshold`: as for ThresholdBackend. The object can be pickled.
    """

    factory: str
    params: Mapping[str, Any]
    id: str = "id"
    text: str = "text"
    codes: Mapping[str, str] = field(default_factory=dict)
    threshold: float | None = None

    def backend(self) -> Backend:
        """The backend. Raises BackendError (permanent) if it can't be loaded, or can't read at a threshold."""
        backend = load(self.factory, **self.params)
        if self.threshold is None:
            return backend
        if not isinstance(backend, GivesMarginals):
            raise BackendError("This backend gives no probabilities of labels. Read without a threshold.")
        return ThresholdBackend(backend, self.threshold)

    def __call__(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """The answer for a batch, in the order of its rows.

        Raises BackendError (permanent) if the backend can't be loaded, or can't read any text.
        """
        # As bytes, since writers of Parquet files don't check that texts are UTF-8.
        values = _plain(batch.column(self.text)).cast(pyarrow.large_binary()).to_pylist()
        return answer(self.ids(batch), self._read(values))

    def ids(self, batch: pyarrow.RecordBatch) -> pyarrow.Array:
        """The ids of a batch, as strings."""
        return _plain(batch.column(self.id)).cast(pyarrow.string())

    def batches(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """The answers for any number of batches, of at most ROWS rows each: for Spark's `mapInArrow`."""
        for batch in batches:
            for first in range(0, batch.num_rows, ROWS):
                yield self(batch.slice(first, ROWS))

    def table(self, table: pyarrow.Table) -> pyarrow.Table:
        """The answer for a table: for Ray's `map_batches` with `batch_format="pyarrow"`."""
        return pyarrow.Table.from_batches(self.batches(table.to_batches()), schema=SCHEMA)

    def failed(self, batch: pyarrow.RecordBatch, reason: str) -> pyarrow.RecordBatch:
        """The answer for rows that could not be read."""
        return answer(self.ids(batch), [(None, reason)] * batch.num_rows)

    def _read(self, values: Sequence[bytes | None]) -> list[_Answer]:
        backend, texts = self.backend(), dict[int, str]()
        found: list[_Answer] = [(None, NO_TEXT)] * len(values)
        for at, value in enumerate(values):
            if value is not None:
                try:
                    texts[at] = value.decode()
                except UnicodeDecodeError:
                    found[at] = None, NOT_UTF8
        budget = budget_of(backend)
        for places in blocks(texts, budget.notes, budget.tokens, lambda at: estimated(len(texts[at]))):
            answers = _answers(backend, [texts[at] for at in places])
            for at, (spans, error) in zip(places, answers, strict=True):
                found[at] = (None if spans is None else self._named(spans), error)
        return found

    def _named(self, spans: Sequence[Span]) -> list[Span]:
        if not self.codes:
            return list(spans)
        known = renamed((span for span in spans if span.label in self.codes), self.codes)
        # Labels that were merged can make two spans equal.
        return list({(span.start, span.end, span.label): span for span in known}.values())


def answer(ids: pyarrow.Array, rows: Sequence[_Answer]) -> pyarrow.RecordBatch:
    """The answer with these ids; for each row its spans, or None and the reason."""
    spans = [None if found is None else list(map(_as_row, found)) for found, _ in rows]
    columns = [ids, pyarrow.array(spans, SCHEMA[1].type), pyarrow.array([error for _, error in rows], SCHEMA[2].type)]
    return pyarrow.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _plain(column: pyarrow.Array) -> pyarrow.Array:
    return column.dictionary_decode() if isinstance(column, pyarrow.DictionaryArray) else column


def _answers(backend: Backend, texts: Sequence[str]) -> list[_Answer]:
    """Read a group of texts, one by one if the group fails."""
    found = each_alone(lambda: backend.predict(texts), lambda text: backend.predict([text])[0], texts)
    answers: list[_Answer] = [(None, str(each)) if isinstance(each, BackendError) else (each, None) for each in found]
    if len(texts) >= HOPELESS and all(spans is None for spans, _ in answers):
        raise BackendError("None of {count} texts in a row could be read: {error}", len(texts), answers[-1][1])
    return answers


def _as_row(span: Span) -> dict[str, Any]:
    return {"start": span.start, "end": span.end, "label": span.label, "confidence": span.confidence}
