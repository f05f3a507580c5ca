"""Import of notes: a staged upload as a job, or a path by the command.

The command imports in one transaction. The job uses many short transactions: it resumes after a killed worker, and
canceling it removes what it imported.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NotRequired, TypedDict, Unpack

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.translation import gettext

from annotations import models
from annotations.core.bulk import SpanRow, collector_paused, insert_returning, insert_spans
from annotations.core.hooks import suggestions_stored
from annotations.core.services import Fence, Progress, ServiceError, check_open, hold, keep_labels, no_fence, silent
from annotations.core.spans import as_json, json_of
from annotations.core.stored_files import open_stored, store_file
from annotations.core.suggestions import add_notes, add_strings, forget_notes, remove_strings, tally_of
from annotations.exchange.events import NOTES_IMPORTED
from annotations.exchange.services import import_plan
from annotations.exchange.services.import_plan import ImportContext, Plan
from annotations.exchange.services.input_formats import quotes_spans
from annotations.exchange.services.label_choices import choices_by_name, complete_choices, find_labels
from annotations.exchange.services.reading import batches, grouped, total_of
from annotations.exchange.services.sources import MemorySource, NamedFiles, ZipSource, patients_at, source_at
from annotations.formats.notes import ParsedNote
from annotations.projects.services.assigning import assign_new_notes
from annotations.projects.services.labels import delete_label
from annotations.text.hashes import string_key

# The documents from which imported notes were extracted: kept as stored files, with a source map for each note.


def store_originals(context: ImportContext, plan: Plan, ids: dict[str, int]) -> None:
    """Store the sources of new notes, and each of their documents once. `ids` are the ids of the notes by name."""
    notes = [note for note in plan.new if note.file]
    if not notes:
        return
    files = {note.file for note in notes}
    earlier = models.DocumentSource.objects.filter(
        document__imported_by=context.row, name__in=files, original__isnull=False
    ).values_list("name", "original")
    originals = dict(earlier)
    for file in sorted(files - originals.keys()):
        with context.source.open(file) as content:
            stored = store_file(
                project=context.project,
                kind=models.StoredFileKind.ORIGINAL,
                name=file.rpartition("/")[2],
                content=content,
                actor=context.actor,
            )
        originals[file] = stored.pk
    models.DocumentSource.objects.bulk_create(
        models.DocumentSource(
            document_id=ids[note.name],
            original_id=originals[note.file],
            name=note.file,
            kind=note.kind,
            encoding=note.encoding,
            cleaned=note.cleaned,
            places=note.places,
            ocr_confidence=note.ocr,
        )
        for note in notes
    )


def delete_unused_originals(project_id: int) -> None:
    """Delete the documents of which no note is left."""
    models.StoredFile.objects.filter(project=project_id, kind=models.StoredFileKind.ORIGINAL, sources=None).delete()


class LabelWords(TypedDict):
    """Choices for unknown labels in words; see `choices_by_name`."""

    mapped: Sequence[str]
    added: Sequence[str]
    skipped: Sequence[str]
    mapping: NotRequired[str]


def run_import(
    *,
    import_id: int,
    progress: Progress,
    fence: Fence = no_fence,
    finish: Callable[[dict[str, Any]], None] | None = None,
    source: NamedFiles | None = None,
) -> dict[str, Any]:
    """Run a staged import in short transactions, starting where an earlier attempt stopped. Return the report.

    `source` is read in place of the upload, which the caller then deletes.

    `fence` is called inside every transaction, so that a worker that lost its lease can't commit. `finish` gets the
    report inside the last one. The upload is deleted afterwards, or expires if the worker is killed before that.
    """
    row = models.Import.objects.select_related("project", "created_by", "stored_file").get(pk=import_id)
    if row.state in (models.ImportState.DONE, models.ImportState.CANCELED, models.ImportState.FAILED):
        return dict(row.report)
    startable = models.Import.objects.filter(
        pk=row.pk, state__in=[models.ImportState.STAGED, models.ImportState.RUNNING]
    )
    with transaction.atomic():
        # An erasure either sees the running import and waits for its end, or has deleted the upload before.
        hold(row.project_id)
        started = startable.update(state=models.ImportState.RUNNING)
    if not started:
        # Somebody discarded the upload in the meantime.
        return dict(row.report)
    row.refresh_from_db()
    with open_upload(row) if source is None else nullcontext(source) as files:
        report = _run(row, files, row.created_by, progress, fence, finish=finish)
    if row.stored_file is not None and source is None:
        row.stored_file.delete()
    return report


def import_path(*, path: Path, format: str, patients: Path | None = None, **options: Any) -> dict[str, Any]:
    """Import a folder, a file or a zip in one transaction; see `import_source`. Return the report."""
    source = source_at(path, format)
    known = patients_at(patients) if patients else None
    return import_source(source=source, format=format, patients=known, **options)


def import_files(*, files: Sequence[tuple[str, bytes]], **options: Any) -> dict[str, Any]:
    """Import files in memory in one transaction (demo, tests); see `import_source`. Return the report."""
    return import_source(source=MemorySource(files), **options)


def import_source(
    *,
    project: models.Project,
    source: NamedFiles,
    format: str,
    patients: dict[str, str] | None = None,
    actor: models.User | None = None,
    progress: Progress = silent,
    labels: LabelWords | None = None,
    **options: Unpack[import_plan.ImportOptions],
) -> dict[str, Any]:
    """Import in one transaction. Without `labels`, a note with an unknown label is refused.

    Raises ServiceError, before anything is imported, if `labels` leaves an unknown label open.
    """
    row = import_plan.new_import(project=project, source=source, format=format, actor=actor, **options)
    row.state = models.ImportState.RUNNING
    with transaction.atomic():
        keep_labels(project.pk)
        check_open(project.pk)
        if labels is not None:
            row.labels_found, row.notes_found = find_labels(row.format, source)
            row.label_choices = choices_by_name(project, row.labels_found, **labels)
            row.label_choices = complete_choices(row)
        row.save()
        return {"format": row.format, **_run(row, source, actor, progress, no_fence, patients)}


def _run(
    row: models.Import,
    source: NamedFiles,
    actor: models.User | None,
    progress: Progress,
    fence: Fence,
    patients: dict[str, str] | None = None,
    finish: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    context = ImportContext(row, source, actor, patients=patients)
    groups, strays = grouped(row.format, source)
    if row.notes_done == 0:
        context.report.refuse_files(strays)
        if row.repair_offsets and not quotes_spans(row.format):
            message = gettext(
                "Files in this format don't quote the text of their spans, so no span can be moved to it."
            )
            context.report.warn_of(row.format, "repair", message)
    seen: dict[str, str] = {}
    total = total_of(row, groups)
    progress(row.notes_done, total)
    found = batches(context, groups, skip=row.notes_done)
    while _import_batch(context, found, seen, fence):
        progress(row.notes_done, max(total, row.notes_done, total_of(row, groups)))
        _go_on(row, context)
    with transaction.atomic():
        fence()
        row.state, row.finished_at, row.report = models.ImportState.DONE, timezone.now(), asdict(context.report)
        row.save(update_fields=["state", "finished_at", "report"])
        NOTES_IMPORTED.record(
            actor=actor,
            project_id=row.project_id,
            data={
                "import": row.pk,
                "format": row.format,
                "as": context.author.kind if context.author else "",
                "author": context.author.pk if context.author else None,
                "notes": context.report.notes,
                "spans": context.report.spans,
                "refused": context.report.refused_notes,
            },
        )
        if finish:
            finish(row.report)
    return dict(row.report)


@collector_paused()
def _import_batch(
    context: ImportContext, found: Iterator[tuple[list[ParsedNote], int]], seen: dict[str, str], fence: Fence
) -> bool:
    """Read the next batch and write it in one transaction. Return False if there is none."""
    parsed, count = next(found, ([], 0))
    if not count:
        return False
    row = context.row
    with transaction.atomic():
        import_plan.follow_merged_labels(context)
        fence()
        _write(context, import_plan.plan_notes(context, parsed, seen))
        row.notes_done += count
        row.report = asdict(context.report)
        row.save(update_fields=["notes_done", "files_done", "notes_of_files", "report"])
    return True


def _go_on(row: models.Import, context: ImportContext) -> None:
    """Raise ServiceError `refused` if a note was refused and nothing is to be imported in that case.

    The caller takes back what was imported; the report stays.
    """
    if row.all_or_nothing and context.report.refused_notes:
        first = context.report.refused[0]
        where = first["file"] if first["line"] is None else gettext("%(file)s, line %(line)s") % first
        message = gettext("Nothing was imported, because a note was refused. %(where)s: %(message)s")
        raise ServiceError(message % {"where": where, "message": first["message"]}, code="refused")


def _write(context: ImportContext, plan: Plan) -> None:
    ids = _write_notes(context, plan)
    store_originals(context, plan, ids)
    assign_new_notes(project=context.project, notes=list(ids.values()))
    context.report.notes += len(ids)
    if context.author is None or not plan.sets:
        return
    import_plan.add_chosen_labels(context, plan)
    import_plan.count_labels(context, plan)
    documents = [pk or ids[note.name] for note, pk in plan.sets]
    sets = _write_sets(context, context.author, documents)
    suggested = context.author.kind in models.Author.MODELS
    rows = [
        SpanRow(
            sets[document], span.start, span.end, context.label_ids[span.label], span.confidence, "import", None, None,
            string_key(note.text[span.start : span.end]) if suggested else None,
            as_json(json_of(span.attributes)) if span.attributes else None,
        )
        for document, (note, _) in zip(documents, plan.sets, strict=True)
        for span in note.spans or ()
    ]  # fmt: skip
    # Labels that are mapped, or merged since the import started, can make two spans equal.
    distinct = {row[:4]: row for row in rows}
    insert_spans(distinct.values())
    if suggested:
        add_strings(tally_of(models.Span.objects.filter(annotation_set__in=list(sets.values()))))
        suggestions_stored(author=context.author, notes=list(sets))
        add_notes(context.author.pk, {pk: note for note, pk in sets.items()})
    if context.author.user_id is not None:
        models.Assignment.objects.filter(user_id=context.author.user_id, document__in=documents).update(
            state=models.AssignmentState.DONE
        )
    context.report.sets += len(sets)
    context.report.spans += len(distinct)


def _write_notes(context: ImportContext, plan: Plan) -> dict[str, int]:
    """Create the new notes. Return their ids by name, in the order of the import."""
    names = [note.name for note in plan.new]
    made = insert_returning(
        models.Document,
        ("name", "sha256", "length", "patient_id", "text"),
        [(note.name, plan.hashes[note.name], len(note.text), note.patient_id, note.text) for note in plan.new],
        project_id=context.project.pk,
        language=context.row.language or context.project.language,
        imported_by_id=context.row.pk,
    )
    return dict(zip(names, made, strict=True))


def _write_sets(context: ImportContext, author: models.Author, documents: Sequence[int]) -> dict[int, int]:
    """Create the new annotation sets. Return their ids by note id."""
    made = insert_returning(
        models.AnnotationSet,
        ("document_id",),
        [(document,) for document in documents],
        author_id=author.pk,
        state=models.AnnotationSetState.SUBMITTED,
        submitted_at=timezone.now(),
        blind=author.kind == models.AuthorKind.ANNOTATOR,
        imported_by_id=context.row.pk,
    )
    return dict(zip(documents, made, strict=True))


def undo_import(*, import_id: int, state: str = models.ImportState.CANCELED) -> int:
    """Remove everything that an unfinished import added. Return the number of notes removed.

    Finished imports are kept, and so are notes that somebody has started to annotate.
    """
    with transaction.atomic():
        row = models.Import.objects.select_for_update().get(pk=import_id)
        if row.state == models.ImportState.DONE:
            return 0
        gone = tally_of(models.Span.objects.filter(annotation_set__imported_by=row))
        forget_notes(models.AnnotationSet.objects.filter(imported_by=row))
        models.AnnotationSet.objects.filter(imported_by=row).delete()
        remove_strings(gone)
        worked_on = models.AnnotationSet.objects.filter(document=OuterRef("pk"))
        notes = models.Document.objects.filter(imported_by=row).filter(~Exists(worked_on))
        removed = notes.count()
        notes.delete()
        delete_unused_originals(row.project_id)
        added = [line["label"] for line in row.report.get("labels", {}).values() if line["created"]]
        if added:
            # After the commit: deleting a label takes locks that come before those of a job (docs/architecture.md).
            transaction.on_commit(partial(_remove_labels, row, added), robust=True)
        row.state, row.finished_at, row.notes_done = state, timezone.now(), 0
        row.files_done = row.notes_of_files = 0
        row.save(update_fields=["state", "finished_at", "notes_done", "files_done", "notes_of_files"])
        stored = row.stored_file
        if stored is not None:
            stored.delete()
    return removed


def _remove_labels(row: models.Import, codes: Sequence[str]) -> None:
    """Delete the labels that a canceled or failed import added, unless somebody uses them."""
    for label in models.Label.objects.filter(label_set__project=row.project_id, code__in=codes).select_related(
        "label_set"
    ):
        # Used by now, or possibly by a job: the label stays.
        with suppress(ServiceError):
            delete_label(label=label, actor=row.created_by)


@contextmanager
def open_upload(row: models.Import) -> Iterator[ZipSource]:
    """Open the uploaded files of an import. Raises ServiceError with the code `expired` if they were deleted."""
    if row.stored_file is None:
        raise ServiceError(
            gettext("The uploaded files were deleted; they are kept for a day. Upload them again."), code="expired"
        )
    with open_stored(row.stored_file) as copy:
        yield ZipSource(copy)
