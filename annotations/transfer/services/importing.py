"""Bringing notes in: a staged import as a job, or a path in one go by the command.

A command's import is one transaction; a job's is many short ones that a killed worker resumes, and that a cancelled
one takes back.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.translation import gettext

from annotations.core.bulk import SpanRow, insert_objects, insert_spans
from annotations.core.erasures import hold
from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.core.progress import Progress, silent
from annotations.core.proposed_notes import forget_notes
from annotations.core.proposed_strings import add_strings, remove_strings, tally_of
from annotations.core.stored_files import open_stored
from annotations.domain.formats import FORMATS
from annotations.domain.strings import string_key
from annotations.models import AnnotationSet, Assignment, Author, Document, Import, Project, Span, User, Verb
from annotations.projects.services.assigning import assign_new_notes
from annotations.transfer.services.import_plan import (
    Plan,
    Reading,
    batches,
    check_choices,
    note_names,
    plan_notes,
    reading_of,
)
from annotations.transfer.services.sources import MemorySource, Source, ZipSource, patients_at, source_at


def run_import(*, import_id: int, progress: Progress, fence: Callable[[], None] | None = None) -> dict[str, Any]:
    """Run a staged import in short transactions, from where an earlier attempt stopped. Returns the report.

    `fence` is called inside every transaction, so that a worker that lost its lease can't commit.
    """
    row = Import.objects.select_related("project", "created_by", "stored_file").get(pk=import_id)
    if row.state in (Import.State.DONE, Import.State.CANCELLED, Import.State.FAILED):
        return dict(row.report)
    startable = Import.objects.filter(pk=row.pk, state__in=[Import.State.STAGED, Import.State.RUNNING])
    with transaction.atomic():
        # An erasure either sees that the import runs, and waits for its end, or has deleted the upload.
        hold(row.project_id)
        started = startable.update(state=Import.State.RUNNING)
    if not started:
        # Discarded in this very moment: there is nothing to bring in.
        return dict(row.report)
    row.refresh_from_db()
    with opened(row) as source:
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
    check_choices(format, written_as)
    source = source_at(path)
    known = patients_at(patients) if patients else None
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
    check_choices(format, written_as)
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
    reading = reading_of(row, source, actor, patients=patients)
    groups, strays = FORMATS[row.format].group(note_names(source))
    if row.notes_done == 0:
        reading.report.refuse(strays, notes=0)
    seen: dict[str, str] = {}
    progress(row.notes_done, len(groups))
    for parsed, count in batches(reading, groups[row.notes_done :]):
        with transaction.atomic():
            if fence:
                fence()
            _write(reading, plan_notes(reading, parsed, seen))
            row.notes_done += count
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
                "as": reading.author.kind if reading.author else "",
                "author": reading.author.pk if reading.author else None,
                "notes": reading.report.notes,
                "spans": reading.report.spans,
                "refused": reading.report.refused_notes,
            },
        )
    return dict(row.report)


def _write(reading: Reading, plan: Plan) -> None:
    ids = _write_notes(reading, plan)
    assign_new_notes(project=reading.project, documents=[Document(pk=pk) for pk in ids.values()])
    reading.report.notes += len(ids)
    if reading.author is None or not plan.sets:
        return
    documents = [pk or ids[note.name] for note, pk in plan.sets]
    sets = _write_sets(reading, reading.author, documents)
    source = f"import:{reading.row.pk}"
    proposed = reading.author.kind in Author.MODELS
    insert_spans(
        SpanRow(
            sets[document], span.start, span.end, reading.label_ids[span.label], span.confidence, source,
            string_key=string_key(note.text[span.start : span.end]) if proposed else None,
        )
        for document, (note, _) in zip(documents, plan.sets, strict=True)
        for span in note.spans or ()
    )  # fmt: skip
    if proposed:
        add_strings(tally_of(Span.objects.filter(annotation_set__in=list(sets.values()))))
    if reading.author.user_id is not None:
        Assignment.objects.filter(user_id=reading.author.user_id, document__in=documents).update(
            state=Assignment.State.DONE
        )
    reading.report.sets += len(sets)
    reading.report.spans += sum(len(note.spans or ()) for note, _ in plan.sets)


def _write_notes(reading: Reading, plan: Plan) -> dict[str, int]:
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


def _write_sets(reading: Reading, author: Author, documents: Sequence[int]) -> dict[int, int]:
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


def undo_import(*, import_id: int, state: str = Import.State.CANCELLED) -> int:
    """Take back everything an unfinished import added, so that nothing half-imported stays. Returns the notes removed.

    A finished import is left alone, and so is a note that somebody has begun to annotate meanwhile.
    """
    with transaction.atomic():
        row = Import.objects.select_for_update().get(pk=import_id)
        if row.state == Import.State.DONE:
            return 0
        gone = tally_of(Span.objects.filter(annotation_set__imported_by=row))
        forget_notes(AnnotationSet.objects.filter(imported_by=row))
        AnnotationSet.objects.filter(imported_by=row).delete()
        remove_strings(gone)
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


def opened(row: Import) -> Any:
    if row.stored_file is None:
        raise ServiceError(
            gettext("the uploaded files are gone (they are kept for a day); upload them again"), code="expired"
        )
    copy = open_stored(row.stored_file)
    return _Closing(ZipSource(copy), copy)


class _Closing:
    def __init__(self, source: ZipSource, copy: IO[bytes]) -> None:
        self.source, self.copy = source, copy

    def __enter__(self) -> ZipSource:
        return self.source

    def __exit__(self, *_: object) -> None:
        self.copy.close()
