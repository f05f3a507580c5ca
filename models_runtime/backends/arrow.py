"""Reading as a pure function over Arrow record batches, which a pool of processes, Spark or Ray can drive.

A row of the input is a text with an id; a row of the answer is that id, the spans, and the reason if the text could not
be read. Nothing is kept between batches except the loaded backend, so a batch may be read again, anywhere, and gives
the same answer.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow

from annotations.domain.spans import Span, renamed
from annotations.domain.tokens import estimated
from models_runtime.backends.base import Backend, BackendError, budget_of, load
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
NO_TEXT: Final = "This row has no text."


@dataclass(frozen=True)
class BatchReader:
    """Reads record batches with the backend `factory(**params)`, which each process loads once.

    `params` are plain JSON values. `id` and `text` name the columns of the input. `codes` maps labels that were merged
    to their present label. `threshold`: as for ThresholdBackend. The object can be pickled.
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
            raise BackendError(
                "This backend gives no probabilities of labels. Read without a threshold.", permanent=True
            )
        return ThresholdBackend(backend, self.threshold)

    def __call__(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """The answer for a batch, in the order of its rows. Raises BackendError if the backend can't be loaded."""
        rows = self._read(batch.column(self.text).cast(pyarrow.large_string()).to_pylist())
        columns = [
            batch.column(self.id).cast(pyarrow.string()),
            pyarrow.array([None if spans is None else list(map(_as_row, spans)) for spans, _ in rows], SCHEMA[1].type),
            pyarrow.array([error for _, error in rows], pyarrow.string()),
        ]
        return pyarrow.RecordBatch.from_arrays(columns, schema=SCHEMA)

    def batches(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """The answers for any number of batches, of at most ROWS rows each: for Spark's `mapInArrow`."""
        for batch in batches:
            for first in range(0, batch.num_rows, ROWS):
                yield self(batch.slice(first, ROWS))

    def table(self, table: pyarrow.Table) -> pyarrow.Table:
        """The answer for a table: for Ray's `map_batches` with `batch_format="pyarrow"`."""
        return pyarrow.Table.from_batches(self.batches(table.to_batches()), schema=SCHEMA)

    def _read(self, texts: Sequence[str | None]) -> list[tuple[list[Span] | None, str | None]]:
        backend = self.backend()
        found: list[tuple[list[Span] | None, str | None]] = [(None, NO_TEXT)] * len(texts)
        for places in _within_budget(backend, texts):
            part = [texts[at] or "" for at in places]
            try:
                read: list[tuple[list[Span] | None, str | None]] = [(spans, None) for spans in backend.predict(part)]
            except Exception:  # Whatever fails for one text must not lose the others.
                read = [_alone(backend, text) for text in part]
            for at, (spans, error) in zip(places, read, strict=True):
                found[at] = (None if spans is None else renamed(spans, self.codes), error)
        return found


def _within_budget(backend: Backend, texts: Sequence[str | None]) -> Iterator[list[int]]:
    """The places of the texts that are there, in groups within the backend's budget, of at least one text each."""
    budget, places, tokens = budget_of(backend), list[int](), 0
    for at, text in enumerate(texts):
        if text is None:
            continue
        cost = estimated(len(text))
        if places and (len(places) == budget.notes or tokens + cost > budget.tokens):
            yield places
            places, tokens = [], 0
        places.append(at)
        tokens += cost
    if places:
        yield places


def _alone(backend: Backend, text: str) -> tuple[list[Span] | None, str | None]:
    try:
        return backend.predict([text])[0], None
    except BackendError as error:
        return None, str(error)
    except Exception as error:  # The message could quote the text.
        return None, f"The backend failed ({type(error).__name__})."


def _as_row(span: Span) -> dict[str, Any]:
    return {"start": span.start, "end": span.end, "label": span.label, "confidence": span.confidence}
