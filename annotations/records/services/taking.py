"""Take records as they come: de-identify those without free text at once, and store the others with their notes.

A record's note holds the identifiers of its fields and its free text, each under its JSON pointer. The author of the
annotations of fields is run:records. So the leak gate, audits, certificates and erasures of releases cover records.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.bulk import SpanRow, batched, insert_returning, insert_spans
from annotations.core.sealing import project_key
from annotations.core.services import hold, keep_labels
from annotations.records.events import RECORDS_STORED
from annotations.records.rules.plans import DeidentifiedRecord, FieldValue, ReadRecord, RecordError, RecordPlan
from annotations.records.rules.reader import LEAK, RecordCore
from annotations.records.rules.schemas import FieldRule
from annotations.records.selectors import AUTHOR, active_schemas
from annotations.records.services.kinds import FieldGate, NamedKinds
from annotations.text.hashes import text_sha256

BATCH: Final = 100


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


class RecordReader(RecordCore):
    """Reads records of a project under a policy. Keep it no longer than the work, since it holds the project's key."""

    def __init__(self, project: models.Project, policy: models.ReleasePolicy, data_type: str = "") -> None:
        self.project, self.rows = project, active_schemas(project)
        self.kinds_named = NamedKinds(project, policy)
        self.gate = FieldGate(project, self.kinds_named)
        super().__init__(
            {name: RecordPlan(row.schema) for name, row in self.rows.items()},
            self.kinds_named,
            project_key(project),
            timezone.now().year,
            project.language,
            data_type,
        )

    def complete(self, row: models.Record, texts: Mapping[str, str], *, changes: bool = False) -> ReadRecord:
        """A stored record with the texts of its released note, by JSON pointer."""
        _name, record, envelope = self.opened(row.record)
        plan = RecordPlan(row.schema.schema)
        plans = {**self.plans, plan.data_type: plan}
        context = self.context(plan, row.content_hash, texts, plans)
        done = plan.read(record, context, changes=changes)
        return ReadRecord("", record, plan, row.content_hash, done, envelope)


def take_records(
    *,
    project: models.Project,
    records: Iterable[tuple[str, Any]],
    policy: models.ReleasePolicy,
    actor: models.User | None,
    data_type: str = "",
    store_all: bool = False,
) -> Iterator[RecordOutcome]:
    """De-identify records, given as where they stand and their value, or store them with their notes.

    One outcome for each, in order. The same record again gives the same outcome, and is stored once. `data_type` is
    that of records which don't say their own. `store_all`: store the records without free text, too, so that they leave
    through a release, and an erasure finds them; none is then ready.
    """
    reader = RecordReader(project, policy, data_type)
    for batch in batched(records, BATCH):
        yield from _taken(reader, batch, actor, store_all)


def _taken(
    reader: RecordReader, batch: Sequence[tuple[str, Any]], actor: models.User | None, store_all: bool
) -> Iterator[RecordOutcome]:
    found: list[ReadRecord | RecordOutcome] = []
    for where, value in batch:
        try:
            read = reader.read(where, value)
            reader.check(read)
            found.append(read)
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
        return RecordOutcome(read.where, OutcomeState.HELD, name, read.leak, _(LEAK))
    if read.digest in stored:
        return RecordOutcome(read.where, OutcomeState.WAITING, name, record=stored[read.digest])
    return RecordOutcome(read.where, OutcomeState.READY, name, output=read.wrapped())


def _refused(where: str, error: RecordError) -> RecordOutcome:
    return RecordOutcome(where, OutcomeState.REFUSED, path=error.path, reason=error.reason)


def _stored(reader: RecordReader, reads: Sequence[ReadRecord], actor: models.User | None) -> dict[str, int]:
    """Store records that are not stored yet, with their notes. Return their rows by content hash."""
    if not reads:
        return {}
    project = reader.project
    with transaction.atomic():
        keep_labels(project.pk)
        hold(project.pk)
        models.Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        schemas = [row.pk for row in reader.rows.values()]
        rows = models.Record.objects.filter(schema__in=schemas, content_hash__in={one.digest for one in reads})
        stored = dict(rows.values_list("content_hash", "pk"))
        by_digest = {one.digest: one for one in reads if one.digest not in stored}
        stored |= _renewed(reader, by_digest)
        if new := [one for digest, one in by_digest.items() if digest not in stored]:
            stored |= _insert(reader, new)
            RECORDS_STORED.record(actor=actor, project_id=project.pk, data={"records": len(new)})
    return stored


def _renewed(reader: RecordReader, reads: Mapping[str, ReadRecord]) -> dict[str, int]:
    """Waiting records of replaced versions whose notes are the same under the active one: they keep note and review."""
    stale = models.Record.objects.filter(
        Q(release=None) | Q(release__state=models.ReleaseState.WITHDRAWN), project=reader.project,
        content_hash__in=reads, schema__state=models.RecordSchemaState.RETIRED,
    )  # fmt: skip
    found = {}
    for row in stale.select_related("schema", "document"):
        one = reads[row.content_hash]
        note = note_of(one.done, reader.kinds_named.label_named)
        spans = models.Span.objects.filter(
            annotation_set__document=row.document_id, annotation_set__author__name=AUTHOR
        )
        same = (one.plan.data_type, note.text) == (row.schema.data_type, row.document.text)
        if same and sorted(note.spans) == sorted(spans.values_list("start", "end", "label__code")):
            row.schema, row.sections, row.has_text = reader.rows[one.plan.data_type], note.sections, note.has_text
            row.save(update_fields=["schema", "sections", "has_text"])
            found[row.content_hash] = row.pk
    return found


def _insert(reader: RecordReader, reads: Sequence[ReadRecord]) -> dict[str, int]:
    notes = [note_of(one.done, reader.kinds_named.label_named) for one in reads]
    schemas = [reader.rows[one.plan.data_type] for one in reads]
    documents = insert_returning(
        models.Document,
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
    author, _made = models.Author.objects.get_or_create(project=reader.project, kind=models.AuthorKind.RUN, name=AUTHOR)
    sets = insert_returning(
        models.AnnotationSet, ("document_id",), [(pk,) for pk in documents], author_id=author.pk, blind=False,
        state=models.AnnotationSetState.SUBMITTED, submitted_at=timezone.now(),
    )  # fmt: skip
    labels = dict(models.Label.objects.filter(label_set__project=reader.project).values_list("code", "pk"))
    insert_spans(
        SpanRow(pk, start, end, labels[label], source="schema")
        for pk, note in zip(sets, notes, strict=True)
        for start, end, label in note.spans
    )
    made = models.Record.objects.bulk_create(
        models.Record(
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
