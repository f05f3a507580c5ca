"""Bringing notes in: staged and previewed on the page, or in one go by the command.

A note is taken whole (text and spans) or refused whole, with every reason. A command's import is one transaction; a
job's is many short ones that a killed worker resumes, and that a cancelled one takes back.
"""

import io
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from annotations.domain.formats import FORMATS
from annotations.domain.formats.base import NoteFiles
from annotations.domain.hashing import text_sha256
from annotations.domain.notes import NoteError, ParsedNote, Problem
from annotations.models import (
    AnnotationSet,
    Assignment,
    Author,
    Document,
    Import,
    Project,
    Span,
    StoredFile,
    User,
    Verb,
)
from annotations.selectors.labels import accepted_labels
from annotations.services.assigning import assign_new_notes
from annotations.services.authors import author_for_import, parse_written_as
from annotations.services.bulk import SpanRow, insert_objects, insert_spans
from annotations.services.errors import ServiceError
from annotations.services.events import record
from annotations.services.progress import Progress, silent
from annotations.services.sources import (
    PATIENTS,
    MemorySource,
    Source,
    ZipSource,
    megabytes,
    parse_patients,
    read_patients,
    source_at,
)
from annotations.services.staging import open_stored, store_file

BATCH = 250
LISTED = 2000
PREVIEWED = 200


@dataclass
class Report:
    """What an import did; `refused` and `warnings` list at most LISTED lines, the counts are complete."""

    notes: int = 0
    spans: int = 0
    sets: int = 0
    already_there: int = 0
    refused_notes: int = 0
    refused: list[dict[str, Any]] = field(default_factory=list)
    refused_more: int = 0
    warnings: list[dict[str, Any]] = field(default_factory=list)
    warnings_more: int = 0

    def refuse(self, problems: Sequence[Problem], *, notes: int = 1) -> None:
        self.refused_notes += notes
        room = max(0, LISTED - len(self.refused))
        self.refused += [asdict(problem) for problem in problems[:room]]
        self.refused_more += len(problems) - len(problems[:room])

    def warn(self, problems: Sequence[Problem]) -> None:
        room = max(0, LISTED - len(self.warnings))
        self.warnings += [asdict(problem) for problem in problems[:room]]
        self.warnings_more += len(problems) - len(problems[:room])


@dataclass
class _Reading:
    """One import while it runs: what it needs to know about the project, and its report so far."""

    project: Project
    source: Source
    format: str
    author: Author | None
    language: str
    take_duplicates: bool
    labels: dict[str, str]
    label_ids: dict[str, int]
    patients: dict[str, str]
    row: Import
    actor: User | None
    report: Report


# ── Staging and preview (pages) ──────────────────────────────────────────────────────────────────────────────────────


def pack(files: Sequence[tuple[str, bytes]]) -> IO[bytes]:
    """Several dropped or pasted files as one stored zip."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files:
            archive.writestr(zipfile.ZipInfo(name), data)
    packed.seek(0)
    return packed


def stage_import(
    *,
    project: Project,
    name: str,
    content: IO[bytes],
    format: str,
    written_as: str,
    language: str,
    take_duplicates: bool,
    actor: User | None,
) -> Import:
    """Keep an uploaded zip (see `pack`) for preview. Raises ServiceError before anything is kept."""
    _check_choices(format, written_as)
    size = content.seek(0, io.SEEK_END)
    content.seek(0)
    if size > settings.UPLOAD_MAX_BYTES:
        limit = megabytes(settings.UPLOAD_MAX_BYTES)
        raise ServiceError(f"{megabytes(size)} is more than is taken at once ({limit})", code="size")
    read_patients(ZipSource(content))
    content.seek(0)
    with transaction.atomic():
        stored = store_file(project=project, kind=StoredFile.Kind.UPLOAD, name=name, content=content, actor=actor)
        return Import.objects.create(
            project=project,
            stored_file=stored,
            format=format,
            written_as=written_as,
            language=language.strip().lower(),
            take_duplicates=take_duplicates,
            created_by=actor,
        )


def _check_choices(format: str, written_as: str) -> None:
    if format not in FORMATS:
        raise ServiceError(f"unknown format {format!r}; there are: {', '.join(FORMATS)}", code="format")
    if written_as:
        parse_written_as(written_as)
        if format == "text":
            raise ServiceError("the format text holds no annotations: leave out whose they are", code="as")


def preview_import(row: Import) -> dict[str, Any]:
    """What an import would do with the first PREVIEWED notes, without writing; `total` counts all of them."""
    with _opened(row) as source:
        reading = _reading(row, source, row.created_by, preview=True)
        groups, strays = FORMATS[row.format].group(_note_names(source))
        reading.report.refuse(strays, notes=0)
        plan = _plan(reading, _parsed(reading, groups[:PREVIEWED]), {})
        return asdict(reading.report) | {
            "total": len(groups),
            "looked_at": min(len(groups), PREVIEWED),
            "notes": len(plan.new),
            "sets": len(plan.sets),
            "spans": sum(len(note.spans or ()) for note, _ in plan.sets),
            "names": [note.name for note in plan.new[:20]],
        }


def _opened(row: Import) -> Any:
    if row.stored_file is None:
        raise ServiceError("the uploaded files are gone (they are kept for a day); upload them again", code="expired")
    copy = open_stored(row.stored_file)
    return _Closing(ZipSource(copy), copy)


class _Closing:
    def __init__(self, source: ZipSource, copy: IO[bytes]) -> None:
        self.source, self.copy = source, copy

    def __enter__(self) -> ZipSource:
        return self.source

    def __exit__(self, *_: object) -> None:
        self.copy.close()


# ── Running ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def run_import(*, import_id: int, progress: Progress, fence: Callable[[], None] | None = None) -> dict[str, Any]:
    """Run a staged import in short transactions, from where an earlier attempt stopped. Returns the report.

    `fence` is called inside every transaction, so that a worker that lost its lease can't commit.
    """
    row = Import.objects.select_related("project", "created_by", "stored_file").get(pk=import_id)
    if row.state in (Import.State.DONE, Import.State.CANCELLED, Import.State.FAILED):
        return dict(row.report)
    startable = Import.objects.filter(pk=row.pk, state__in=[Import.State.STAGED, Import.State.RUNNING])
    if not startable.update(state=Import.State.RUNNING):
        # Discarded in this very moment: there is nothing to bring in.
        return dict(row.report)
    with _opened(row) as source:
        report = _run(row, source, row.created_by, progress, fence)
    if row.stored_file is not None:
        row.stored_file.delete()
    return report


def import_path(
    *,
    project: Project,
    path: Path,
    format: str,
    written_as: str = "",
    language: str = "",
    take_duplicates: bool = False,
    patients: Path | None = None,
    actor: User | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Import a folder, a file or a zip in one transaction: all of what is taken, or nothing."""
    _check_choices(format, written_as)
    source = source_at(path)
    known = parse_patients(patients.read_bytes(), patients.name) if patients else None
    return import_source(
        project=project,
        source=source,
        format=format,
        written_as=written_as,
        language=language,
        take_duplicates=take_duplicates,
        patients=known,
        actor=actor,
        progress=progress,
    )


def import_files(
    *, project: Project, files: Sequence[tuple[str, bytes]], format: str, written_as: str = "", **options: Any
) -> dict[str, Any]:
    """The same for files in memory (demo, tests)."""
    return import_source(project=project, source=MemorySource(files), format=format, written_as=written_as, **options)


def import_source(
    *,
    project: Project,
    source: Source,
    format: str,
    written_as: str = "",
    language: str = "",
    take_duplicates: bool = False,
    patients: dict[str, str] | None = None,
    actor: User | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    _check_choices(format, written_as)
    with transaction.atomic():
        row = Import.objects.create(
            project=project,
            format=format,
            written_as=written_as,
            language=language.strip().lower(),
            take_duplicates=take_duplicates,
            created_by=actor,
            state=Import.State.RUNNING,
        )
        return _run(row, source, actor, progress, None, patients)


def _run(
    row: Import,
    source: Source,
    actor: User | None,
    progress: Progress,
    fence: Callable[[], None] | None,
    patients: dict[str, str] | None = None,
) -> dict[str, Any]:
    reading = _reading(row, source, actor, patients=patients)
    groups, strays = FORMATS[row.format].group(_note_names(source))
    if row.notes_done == 0:
        reading.report.refuse(strays, notes=0)
    seen: dict[str, str] = {}
    progress(row.notes_done, len(groups))
    for at in range(row.notes_done, len(groups), BATCH):
        batch = groups[at : at + BATCH]
        parsed = list(_parsed(reading, batch))
        with transaction.atomic():
            if fence:
                fence()
            _write(reading, _plan(reading, parsed, seen))
            row.notes_done = at + len(batch)
            row.report = asdict(reading.report)
            row.save(update_fields=["notes_done", "report"])
        progress(row.notes_done, len(groups))
    with transaction.atomic():
        if fence:
            fence()
        row.state, row.finished_at, row.report = Import.State.DONE, timezone.now(), asdict(reading.report)
        row.save(update_fields=["state", "finished_at", "report"])
        record(
            verb=Verb.NOTES_IMPORTED,
            actor=actor,
            project_id=row.project_id,
            data={
                "import": row.pk,
                "format": row.format,
                "as": row.written_as,
                "notes": reading.report.notes,
                "spans": reading.report.spans,
                "refused": reading.report.refused_notes,
            },
        )
    return dict(row.report)


def _reading(
    row: Import,
    source: Source,
    actor: User | None,
    *,
    patients: dict[str, str] | None = None,
    preview: bool = False,
) -> _Reading:
    labels, ids = accepted_labels(row.project)
    author = None
    if row.written_as and preview:
        kind, name = parse_written_as(row.written_as)
        author = Author.objects.filter(project=row.project, kind=kind, name=name).first()
    elif row.written_as:
        author = author_for_import(row.project, row.written_as)
    return _Reading(
        project=row.project,
        source=source,
        format=row.format,
        author=author,
        language=row.language or row.project.language,
        take_duplicates=row.take_duplicates,
        labels=labels,
        label_ids=ids,
        patients=read_patients(source) if patients is None else patients,
        row=row,
        actor=actor,
        report=Report(**row.report) if row.report else Report(),
    )


def _note_names(source: Source) -> list[str]:
    return [name for name in source.names() if name != PATIENTS]


def _parsed(reading: _Reading, groups: Sequence[NoteFiles]) -> Iterator[ParsedNote]:
    """The notes that can be read; the others go into the report."""
    format = FORMATS[reading.format]
    for note in (note for group in groups for note in format.read_many(group, reading.source.load, reading.labels)):
        if isinstance(note, NoteError):
            reading.report.refuse(note.problems)
            continue
        note.patient_id = reading.patients.get(note.name, note.patient_id)
        reading.report.warn(note.warnings)
        if note.spans is not None and not reading.row.written_as:
            reading.report.warn([Problem(note.name, None, "as", "its annotations were not taken: say whose they are")])
            note.spans = None
        yield note


@dataclass
class _Plan:
    """What to write for one batch: new notes, and readings for new notes or (by pk) for notes that are there."""

    new: list[ParsedNote] = field(default_factory=list)
    sets: list[tuple[ParsedNote, int | None]] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)


def _plan(reading: _Reading, parsed: "Sequence[ParsedNote] | Iterator[ParsedNote]", seen: dict[str, str]) -> _Plan:
    """Sort a batch by DOMAIN section 10: new, another reading of a note that is there, the same again, refused.

    `seen` (sha256 to name) carries over the batches of one import.
    """
    notes = list(parsed)
    plan = _Plan(hashes={note.name: text_sha256(note.text) for note in notes})
    there = {
        name: (pk, sha256)
        for pk, name, sha256 in Document.objects.filter(
            project=reading.project, name__in=list(plan.hashes)
        ).values_list("pk", "name", "sha256")
    }
    twins = dict(
        Document.objects.filter(project=reading.project, sha256__in=list(plan.hashes.values()))
        .order_by("-id")
        .values_list("sha256", "name")
    )
    for note in notes:
        sha256 = plan.hashes[note.name]
        if note.name in there:
            pk, stored = there[note.name]
            if stored != sha256:
                reading.report.refuse(
                    [
                        Problem(
                            note.name, None, "other-text", "a note of this name is there with another text; it was kept"
                        )
                    ]
                )
            else:
                _plan_reading(reading, plan, note, pk)
            continue
        twin = twins.get(sha256) or seen.get(sha256)
        if twin is not None and not reading.take_duplicates:
            reading.report.refuse(
                [
                    Problem(
                        note.name, None, "duplicate", f"the same text is there as {twin!r}; take it only if you mean it"
                    )
                ]
            )
            continue
        seen[sha256] = note.name
        plan.new.append(note)
        if note.spans is not None:
            plan.sets.append((note, None))
    return plan


def _plan_reading(reading: _Reading, plan: _Plan, note: ParsedNote, pk: int) -> None:
    """Another reading of a note that is there: new, the same again, or in the way of what the author has."""
    if note.spans is None:
        reading.report.already_there += 1
        return
    present = reading.author and AnnotationSet.objects.filter(document=pk, author=reading.author).first()
    if not present:
        plan.sets.append((note, pk))
        return
    held = set(Span.objects.filter(annotation_set=present).values_list("start", "end", "label_id"))
    given = {(span.start, span.end, reading.label_ids[span.label]) for span in note.spans}
    if held == given and present.state == AnnotationSet.State.SUBMITTED:
        reading.report.already_there += 1
        return
    reading.report.refuse(
        [
            Problem(
                note.name,
                None,
                "other-reading",
                f"{reading.row.written_as} has another reading of this note ({len(held)} spans); it was kept",
            )
        ]
    )


def _write(reading: _Reading, plan: _Plan) -> None:
    ids = _write_notes(reading, plan)
    assign_new_notes(project=reading.project, documents=[Document(pk=pk) for pk in ids.values()])
    reading.report.notes += len(ids)
    if reading.author is None or not plan.sets:
        return
    documents = [pk or ids[note.name] for note, pk in plan.sets]
    sets = _write_sets(reading, reading.author, documents)
    source = f"import:{reading.row.pk}"
    insert_spans(
        SpanRow(sets[document], span.start, span.end, reading.label_ids[span.label], span.confidence, source)
        for document, (note, _) in zip(documents, plan.sets, strict=True)
        for span in note.spans or ()
    )
    if reading.author.user_id is not None:
        Assignment.objects.filter(user_id=reading.author.user_id, document__in=documents).update(
            state=Assignment.State.DONE
        )
    reading.report.sets += len(sets)
    reading.report.spans += sum(len(note.spans or ()) for note, _ in plan.sets)


def _write_notes(reading: _Reading, plan: _Plan) -> dict[str, int]:
    """The new notes' ids by name, in the order of the import."""
    if not plan.new:
        return {}
    insert_objects(
        Document,
        (
            Document(
                project=reading.project,
                name=note.name,
                text=note.text,
                sha256=plan.hashes[note.name],
                length=len(note.text),
                language=reading.language,
                patient_id=note.patient_id,
                imported_by=reading.row,
            )
            for note in plan.new
        ),
    )
    made = Document.objects.filter(project=reading.project, name__in=[note.name for note in plan.new])
    return dict(made.order_by("id").values_list("name", "pk"))


def _write_sets(reading: _Reading, author: Author, documents: Sequence[int]) -> dict[int, int]:
    """The new readings' ids by note."""
    now = timezone.now()
    insert_objects(
        AnnotationSet,
        (
            AnnotationSet(
                document_id=document,
                author=author,
                state=AnnotationSet.State.SUBMITTED,
                submitted_at=now,
                blind=author.kind == Author.Kind.ANNOTATOR,
                imported_by=reading.row,
            )
            for document in documents
        ),
    )
    return dict(AnnotationSet.objects.filter(author=author, document__in=documents).values_list("document_id", "pk"))


# ── Taking back ──────────────────────────────────────────────────────────────────────────────────────────────────────


def undo_import(*, import_id: int, state: str = Import.State.CANCELLED) -> int:
    """Take back everything an unfinished import added, so that nothing half-imported stays. Returns the notes removed.

    A finished import is left alone, and so is a note that somebody has begun to annotate meanwhile.
    """
    with transaction.atomic():
        row = Import.objects.select_for_update().get(pk=import_id)
        if row.state == Import.State.DONE:
            return 0
        AnnotationSet.objects.filter(imported_by=row).delete()
        worked_on = AnnotationSet.objects.filter(document=OuterRef("pk"))
        notes = Document.objects.filter(imported_by=row).filter(~Exists(worked_on))
        removed = notes.count()
        notes.delete()
        row.state, row.finished_at, row.notes_done = state, timezone.now(), 0
        row.save(update_fields=["state", "finished_at", "notes_done"])
        stored = row.stored_file
        if stored is not None:
            stored.delete()
    return removed
