"""De-identify records as a pure function over Arrow record batches, which a pool of processes, Spark or Ray can drive.

A row of the input is a record as a JSON text; a row of the answer is the de-identified record, or the reason why there
is none. Records with free text need a note, so that they get a reason here.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from typing import Any, Final

import pyarrow

from annotations.records.rules.masking import NamedKind
from annotations.records.rules.plans import COLUMN, ROWS, ReadRecord, RecordError, RecordPlan
from annotations.records.rules.reader import LEAK, RecordCore, leak_in
from annotations.release.rules.known.matcher import DenyList, Profile, find
from annotations.release.rules.known.person import MasterPerson
from annotations.release.rules.leaks.gate import Gate
from annotations.text.hashes import DigestKey
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

SCHEMA: Final = pyarrow.schema([(COLUMN, pyarrow.string()), ("error", pyarrow.string())])
"""The answer: one of them is null. The error is a JSON pointer and a reason, never a value of the record."""
SPARK_SCHEMA: Final = f"{COLUMN} string, error string"
"""SCHEMA as Spark's `mapInArrow` takes it."""
PROFILES: Final = 1000
"""How many prepared patients are kept; one takes about 20 kB."""
FREE_TEXT: Final = gettext_noop(
    "The record has free text or surrogates. Give it to deid_records, which stores its note."
)


@dataclass(frozen=True)
class RecordBatches:
    """De-identifies record batches with the column `record`. The object can be pickled, and holds the project's key.

    `schemas`: checked schemas of the active versions; `kinds`: what they call each kind. `allowed` and `place_words`:
    as for the leak gate. `given`: the type of records that don't say theirs. `people`: the patient master, by patient;
    `denied`: denied terms with the codes of their labels.
    """

    schemas: Sequence[Mapping[str, Any]]
    kinds: Mapping[str, NamedKind]
    secret: bytes = field(repr=False)
    year: int
    language: str
    allowed: Collection[str] = ()
    place_words: Collection[str] = ()
    given: str = ""
    people: Mapping[str, MasterPerson] = field(default_factory=dict, repr=False)
    denied: Sequence[tuple[str, str]] = field(default=(), repr=False)

    @cached_property
    def _core(self) -> RecordCore:
        plans = {plan.data_type: plan for plan in map(RecordPlan, self.schemas)}
        key = DigestKey(self.secret)
        return RecordCore(plans, self.kinds.__getitem__, key, self.year, self.language, self.given)

    @cached_property
    def _gate(self) -> Gate:
        return Gate(self.allowed, [self.language], self.place_words)

    @cached_property
    def _denied(self) -> DenyList:
        return DenyList(self.denied)

    @cached_property
    def _profile(self) -> Callable[[str], Profile | None]:
        return lru_cache(PROFILES)(lambda patient: Profile(self.people[patient]) if patient in self.people else None)

    def __getstate__(self) -> dict[str, Any]:
        """What is compiled from the fields is compiled again in another process."""
        return {one.name: self.__dict__[one.name] for one in fields(self)}

    def __call__(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """The answer for a batch, in the order of its rows."""
        rows = [self._row(text) for text in batch.column(COLUMN).to_pylist()]
        return pyarrow.RecordBatch.from_pylist(rows, schema=SCHEMA)

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
        return pyarrow.RecordBatch.from_pylist([{"error": reason}] * batch.num_rows, schema=SCHEMA)

    def _known_in(self, read: ReadRecord) -> list[int]:
        """Where known identifiers of the patient and denied terms stand in the passing texts."""
        profile = self._profile(read.patient)
        if not (read.done.passed and (profile or self.denied)):
            return []
        text = "\n".join(text for _pointer, text in read.done.passed)
        return [one.start for one in find(text, profile, self._denied, frozenset(self.allowed))]

    def _row(self, text: str | None) -> dict[str, str | None]:
        try:
            read = self._core.read("", json.loads(text or "null"))
            if read.done.free:
                raise RecordError(read.done.free[0].pointer, FREE_TEXT)
            if leak := leak_in(read, self._gate, self.kinds.__getitem__, places=self._known_in(read)):
                raise RecordError(leak, LEAK)
            self._core.check(read)
        except RecordError as error:
            return {"error": str(error)}
        except (ValueError, RecursionError):
            return {"error": _("/: This is not JSON.")}
        return {COLUMN: json.dumps(read.wrapped(), ensure_ascii=False)}
