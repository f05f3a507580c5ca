"""Take records as they come: de-identify those without free text at once, and store the others with their notes.

A record's note holds the identifiers of its fields and its free text, each under its JSON pointer. The author of the
annotations of fields is run:records. So the leak gate, audits, certificates and erasures of releases cover records.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from annotations.core.bulk import SpanRow, insert_returning, insert_spans
from annotations.core.locks import hold, keep_labels
from annotations.core.sealing import project_key
from annotations.models import (
    AnnotationSet,
    AnnotationSetState,
    Author,
    AuthorKind,
    Document,
    Label,
    Project,
    Record,
    ReleasePolicy,
    User,
)
from annotations.records.events import RECORDS_STORED
from annotations.records.rules.masking import MaskingContext
from annotations.records.rules.plans import (
    DeidentifiedRecord,
    FieldValue,
    PlanContext,
    ReadRecord,
    RecordError,
    RecordPlan,
    Unreadable,
    data_type_of,
    unknown_type,
)
from annotations.records.rules.schemas import FieldRule
from annotations.records.selectors import AUTHOR, active_schemas
from annotations.records.services.kinds import FieldGate, NamedKinds
from annotations.records.services.validating import check_output
from annotations.release.services.surrogates.patients import date_offset
from annotations.text.hashes import text_sha256

BATCH: Final = 100
LONGEST_PATIENT: Final = 80
_ENVELOPES: Final = ("record", "data", "resource")


class OutcomeState(StrEnum):
    """What became of a record."""

    READY = "ready"
    WAITING = "waiting"
    REFUSED = "refused"
    HELD = "held"


@dataclass(frozen=True)
class RecordOutcome:
    """What became of a record. `where` names it in its source; `path` is a JSON pointer.

    ready: `output` is the de-identified record, and nothing was stored. waiting: `record` is the stored row. refused
    and held: `path` and `reason`; held: an identifier was found in a field that passes.
    """

    where: str
    state: OutcomeState
    data_type: str = ""
    path: str = ""
    reason: str = ""
    record: int | None = None
    output: Any = None


class RecordReader:
    """Reads records of a project under a policy. Keep it no longer than the work, since it holds the project's key."""

    def __init__(self, project: Project, policy: ReleasePolicy, data_type: str = "") -> None:
        self.project, self._given = project, data_type
        self.rows = active_schemas(project)
        self.plans = {name: RecordPlan(row.schema) for name, row in self.rows.items()}
        self.kinds = NamedKinds(project, policy)
        self.gate = FieldGate(project, self.kinds)
        self._key, self._year = project_key(project), timezone.now().year
        self._days = lru_cache(4096)(lambda patient: date_offset(self._key, patient, 0))

    def read(self, where: str, value: Any, *, changes: bool = False) -> ReadRecord:
        """Read a record, by the type that it, its envelope or the caller names. Raises RecordError."""
        name, record, envelope = self._opened(value)
        plan = self.plans.get(name)
        if plan is None:
            raise RecordError("", unknown_type(name, self.plans))
        wanted = str((envelope[1] if envelope else record).get("recordVersion", ""))
        if wanted and plan.schema.get("recordVersion") and wanted != str(plan.schema["recordVersion"]):
            raise RecordError("/recordVersion", f"The active schema is of version {plan.schema['recordVersion']}.")
        digest = content_hash(value)
        read = ReadRecord(where, record, plan, digest, plan.read(record, self.context(plan, digest), changes=changes))
        read.envelope = envelope
        if len(read.patient) > LONGEST_PATIENT:
            raise RecordError("", f"The id of the patient has more than {LONGEST_PATIENT} characters.")
        if read.done.free and len(read.done.patients) > 1:
            raise RecordError("", "It holds free text of several patients. Split it by patient.")
        return read

    def complete(self, row: Record, texts: Mapping[str, str], *, changes: bool = False) -> ReadRecord:
        """A stored record with the texts of its released note, by JSON pointer."""
        _name, record, envelope = self._opened(row.record)
        plan = RecordPlan(row.schema.schema)
        plans = {**self.plans, plan.data_type: plan}
        context = self.context(plan, row.content_hash, texts, plans)
        done = plan.read(record, context, changes=changes)
        return ReadRecord("", record, plan, row.content_hash, done, envelope)

    def context(
        self,
        plan: RecordPlan,
        digest: str,
        texts: Mapping[str, str] | None = None,
        plans: Mapping[str, RecordPlan] | None = None,
    ) -> PlanContext:
        language = plan.language or self.project.language

        def masking(patient: str) -> MaskingContext:
            days = self._days(patient or f"record-{digest[:16]}")
            return MaskingContext(self._key, self.kinds, days, self._year, language)

        return PlanContext(plans or self.plans, masking, self.kinds, texts)

    def _opened(self, value: Any) -> tuple[str, Any, tuple[str, Mapping[str, Any]] | None]:
        """The type of a record, the record, and its envelope if it has one."""
        if not isinstance(value, dict):
            raise RecordError("", value.reason if isinstance(value, Unreadable) else "A record must be an object.")
        for name in _ENVELOPES:
            if isinstance(value.get("dataType"), str) and isinstance(value.get(name), dict):
                if others := value.keys() - {"dataType", "recordVersion", name}:
                    raise RecordError(f"/{sorted(others)[0]}", "An envelope has no other fields.")
                return value["dataType"], value[name], (name, value)
        return data_type_of(value) or self._given, value, None


def content_hash(value: Any) -> str:
    """The SHA-256 of a record, whatever the order of its fields."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def take_records(
    *,
    project: Project,
    records: Iterable[tuple[str, Any]],
    policy: ReleasePolicy,
    actor: User | None,
    data_type: str = "",
    store_all: bool = False,
) -> Iterator[RecordOutcome]:
    """De-identify records, given as where they stand and their value, or store them with their notes.

    One outcome for each, in order. The same record again gives the same outcome, and is stored once. `data_type` is
    that of records which don't say their own. `store_all`: store the records without free text, too, so that they leave
    through a release, and an erasure finds them; none is then ready.
    """
    reader, rows = RecordReader(project, policy, data_type), iter(records)
    while batch := list(islice(rows, BATCH)):
        yield from _taken(reader, batch, actor, store_all)


def _taken(
    reader: RecordReader, batch: Sequence[tuple[str, Any]], actor: User | None, store_all: bool
) -> Iterator[RecordOutcome]:
    found: list[ReadRecord | RecordOutcome] = []
    for where, value in batch:
        try:
            found.append(reader.read(where, value))
        except RecordError as error:
            found.append(_refused(where, error))
    reads = [one for one in found if isinstance(one, ReadRecord)]
    reader.gate.check(reads)
    stored = _stored(reader, [one for one in reads if (store_all or one.done.free) and not one.leak], actor)
    for one in found:
        yield one if isinstance(one, RecordOutcome) else _outcome(one, stored)


def _outcome(read: ReadRecord, stored: Mapping[str, int]) -> RecordOutcome:
    name = read.plan.data_type
    if read.leak:
        reason = "An identifier of this record stands in a field that passes."
        return RecordOutcome(read.where, OutcomeState.HELD, name, read.leak, reason)
    if read.digest in stored:
        return RecordOutcome(read.where, OutcomeState.WAITING, name, record=stored[read.digest])
    try:
        check_output(read.plan, read.done.output)
    except RecordError as error:
        return _refused(read.where, error, name)
    return RecordOutcome(read.where, OutcomeState.READY, name, output=read.wrapped())


def _refused(where: str, error: RecordError, data_type: str = "") -> RecordOutcome:
    return RecordOutcome(where, OutcomeState.REFUSED, data_type, error.path, error.reason)


def _stored(reader: RecordReader, reads: Sequence[ReadRecord], actor: User | None) -> dict[str, int]:
    """Store records that are not stored yet, with their notes. Return their rows by content hash."""
    if not reads:
        return {}
    project = reader.project
    with transaction.atomic():
        keep_labels(project.pk)
        hold(project.pk)
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        schemas = [row.pk for row in reader.rows.values()]
        rows = Record.objects.filter(schema__in=schemas, content_hash__in={one.digest for one in reads})
        stored = dict(rows.values_list("content_hash", "pk"))
        new = list({one.digest: one for one in reads if one.digest not in stored}.values())
        if new:
            stored |= _insert(reader, new)
            RECORDS_STORED.record(actor=actor, project_id=project.pk, data={"records": len(new)})
    return stored


def _insert(reader: RecordReader, reads: Sequence[ReadRecord]) -> dict[str, int]:
    notes = [note_of(one.done, reader.kinds.label_named) for one in reads]
    schemas = [reader.rows[one.plan.data_type] for one in reads]
    documents = insert_returning(
        Document,
        ("name", "sha256", "length", "patient_id", "language", "text"),
        [
            (
                f"record-{schema.data_type[:40]}-{schema.number}-{one.digest[:16]}", text_sha256(note.text),
                len(note.text), one.patient, one.plan.language or reader.project.language, note.text,
            )
            for one, note, schema in zip(reads, notes, schemas, strict=True)
        ],
        project_id=reader.project.pk,
    )  # fmt: skip
    author, _made = Author.objects.get_or_create(project=reader.project, kind=AuthorKind.RUN, name=AUTHOR)
    sets = insert_returning(
        AnnotationSet, ("document_id",), [(pk,) for pk in documents], author_id=author.pk, blind=False,
        state=AnnotationSetState.SUBMITTED, submitted_at=timezone.now(),
    )  # fmt: skip
    labels = dict(Label.objects.filter(label_set__project=reader.project).values_list("code", "pk"))
    insert_spans(
        SpanRow(pk, start, end, labels[label], source="schema")
        for pk, note in zip(sets, notes, strict=True)
        for start, end, label in note.spans
    )
    made = Record.objects.bulk_create(
        Record(
            project=reader.project, schema=schema, document_id=document, content_hash=one.digest, record=one.whole,
            sections=note.sections, has_text=note.has_text,
        )
        for one, note, schema, document in zip(reads, notes, schemas, documents, strict=True)
    )  # fmt: skip
    return {row.content_hash: row.pk for row in made}


@dataclass(frozen=True)
class RecordNote:
    """The note of a record. `sections`: [start, end, JSON pointer] of what the record takes back from it.

    `spans`: bounds and label code of the fields. Bounds are code points, end-exclusive.
    """

    text: str
    sections: list[list[Any]]
    spans: list[tuple[int, int, str]]
    has_text: bool


def note_of(done: DeidentifiedRecord, label_of: Callable[[FieldValue], str]) -> RecordNote:
    """Write the identifiers of fields, one in a line, and then each free text."""
    wanted = {one.pointer for one in done.free}
    auto = [one for one in done.free if one.rule.rule is FieldRule.AUTO]
    fields = [(one, label) for one in done.named if (label := label_of(one)) or one.pointer in wanted]
    parts: list[str] = []
    sections: list[list[Any]] = []
    spans = []
    length = 0
    for one, label in [*fields, *((one, "") for one in auto)]:
        head = f"{one.pointer}: " if label else f"\n{one.pointer}:\n"
        start = length + len(head)
        length = start + len(one.text) + 1
        parts += (head, one.text, "\n")
        if one.pointer in wanted:
            sections.append([start, length - 1, one.pointer])
        if label and one.text.strip():
            lead = len(one.text) - len(one.text.lstrip())
            spans.append((start + lead, start + len(one.text.rstrip()), label))
    return RecordNote("".join(parts), sections, spans, bool(auto))
