"""Uploads that wait for their import: stage, preview, discard. Nothing is imported until somebody starts the import."""

import io
import zipfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from typing import IO, Any, Final, Protocol, Unpack

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext
from django.utils.translation import gettext as _

from annotations.core.bulk import collector_paused
from annotations.core.services import ServiceError, keep_labels
from annotations.core.stored_files import store_file
from annotations.exchange.selectors import JOB_KEY
from annotations.exchange.services import import_plan
from annotations.exchange.services.exporting import ExportOrder
from annotations.exchange.services.importing import open_upload, undo_import
from annotations.exchange.services.input_formats import check_reading, files_by_format, gate_sets
from annotations.exchange.services.label_choices import begun, complete_choices, find_labels, labels_changed, unknown_of
from annotations.exchange.services.reading import PREVIEWED_DOCUMENTS, batches, grouped, total_of
from annotations.exchange.services.sources import ZipSource, megabytes, read_names, read_patients
from annotations.formats.documents.base import DOCUMENTS, TIME, Limits
from annotations.formats.files.archives import MANIFEST, is_archive
from annotations.formats.notes import ParsedNote
from annotations.jobs.services.queue import enqueue, once
from annotations.models import Import, ImportState, Job, Project, StoredFileKind, User

PREVIEWED = 200
# Reading documents takes long, and the page waits: each at most so many seconds, pages that OCR reads, and characters.
SECONDS: Final = 10
OCR_PAGES: Final = 3
SHOWN_CHARACTERS: Final = 5000


def pack(files: Sequence[tuple[str, bytes]]) -> IO[bytes]:
    """Pack several files into one zip without compression."""
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
    actor: User | None,
    **options: Unpack[import_plan.ImportOptions],
) -> Import:
    """Store an uploaded zip (see `pack`) for preview. If it raises ServiceError, nothing is stored."""
    size = content.seek(0, io.SEEK_END)
    content.seek(0)
    if size > settings.UPLOAD_MAX_BYTES:
        limit = megabytes(settings.UPLOAD_MAX_BYTES)
        message = gettext("The upload has %(size)s; at most %(limit)s are allowed. Split it into several uploads.")
        raise ServiceError(message % {"size": megabytes(size), "limit": limit}, code="size")
    source = _notes_in(content)
    row = import_plan.new_import(project=project, source=source, format=format, actor=actor, **options)
    read_patients(source)
    read_names(source)
    row.labels_found, row.notes_found = find_labels(row.format, source)
    content.seek(0)
    with transaction.atomic():
        row.stored_file = store_file(
            project=project, kind=StoredFileKind.UPLOAD, name=name, content=content, actor=actor
        )
        row.save()
    return row


class StagedFiles(Protocol):
    """A valid form with files to stage."""

    cleaned_data: dict[str, Any]

    def content(self) -> tuple[str, IO[bytes]]: ...

    def options(self) -> import_plan.ImportOptions: ...


def stage_upload(*, project: Project, form: StagedFiles, actor: User) -> Import:
    """Stage the files of a form, once for a double click. Raises what `stage_import` raises."""
    name, content = form.content()
    format = form.cleaned_data.get("format") or "text"
    row = stage_import(project=project, name=name, content=content, format=format, actor=actor, **form.options())
    return same_waiting(row)


def needs_no_choice(row: Import) -> bool:
    """Whether nobody has to look at the preview: plain texts without spans, of which none would be refused."""
    if row.labels_found or row.has_documents:
        return False
    preview = preview_import(row)
    return bool(preview["notes"]) and not (preview["refused"] or preview["refused_files"] or preview["warnings"])


def _notes_in(content: IO[bytes]) -> ZipSource:
    """Open an uploaded zip. Raises ServiceError if it can't be imported, for example because it is a whole project."""
    try:
        source = ZipSource(content)
    except ServiceError:
        if is_archive(content):
            raise _whole_project() from None
        raise
    if MANIFEST in source.names() and is_archive(content):
        raise _whole_project()
    return source


def _whole_project() -> ServiceError:
    message = gettext(
        "The file is a project archive, which becomes a project of its own. Nothing was imported. Import it "
        "under “New project”, “Import a project archive”."
    )
    return ServiceError(message, code="archive")


@collector_paused()
def preview_import(row: Import) -> dict[str, Any]:
    """Report what an import would do, without writing. Looks at the first `looked_at` notes, at most PREVIEWED.

    Of documents, at most PREVIEWED_DOCUMENTS notes are read, and `texts` shows them.
    """
    documents = row.has_documents
    with open_upload(row) as source:
        context = import_plan.ImportContext(row, source, row.created_by, preview=True)
        groups, strays = grouped(row.format, source)
        context.report.refuse_files(strays)
        begun = [group for group in groups if "document" in group.parts][:PREVIEWED_DOCUMENTS]
        first = [*[group for group in groups if "document" not in group.parts][: PREVIEWED - len(begun)], *begun]
        most = PREVIEWED_DOCUMENTS if row.format == DOCUMENTS else PREVIEWED
        with closing(batches(context, first, most=most, limits=Limits(seconds=SECONDS, ocr_pages=OCR_PAGES))) as found:
            parsed, looked_at = next(found, ([], 0))
        if documents:
            _not_yet(context.report)
        plan = import_plan.plan_notes(context, parsed, {})
        return asdict(context.report) | {
            # A document that is not read to its end may hold more notes.
            "total": max(looked_at + (row.format == DOCUMENTS and looked_at == most), total_of(row, groups)),
            "looked_at": looked_at,
            "notes": len(plan.new),
            "sets": len(plan.sets),
            "spans": sum(len(note.spans or ()) for note, _ in plan.sets),
            "names": [note.name for note in plan.new[:20]],
            "gate_sets": gate_sets(row, source),
            "formats": files_by_format(row.format, groups),
            "texts": [_shown(note) for note in parsed if note.file],
        }


def _not_yet(report: import_plan.ImportReport) -> None:
    """Don't report documents as refused that only the preview has no time for."""
    late = [problem for problem in report.refused if problem["code"] == TIME]
    report.refused = [problem for problem in report.refused if problem not in late]
    report.refused_notes -= len(late)
    for problem in late:
        message = gettext("Reading takes too long for the preview. The import gives it more time.")
        report.warn_of(problem["file"], TIME, message)


def _shown(note: ParsedNote) -> dict[str, Any]:
    """The beginning of a note beside the names of the pages and parts of its document, and how it was read."""
    pieces = [
        {"place": place, "start": start, "end": end, "text": note.text[start : min(end, SHOWN_CHARACTERS)]}
        for start, end, place in note.places or [(0, len(note.text), "")]
        if start < SHOWN_CHARACTERS
    ]
    return {
        "name": note.name,
        "file": note.file,
        "kind": note.kind,
        "encoding": note.encoding,
        "cleaned": list(note.cleaned.items()),
        "ocr": note.ocr,
        "pieces": pieces,
        "length": len(note.text),
        "cut": len(note.text) > SHOWN_CHARACTERS,
    }


def discard(*, row: Import) -> None:
    """Delete the upload. Raises ServiceError once the import runs. Calling it twice does no harm."""
    if row.state == ImportState.CANCELED:
        return
    # The condition on the state keeps an import that a worker has just started.
    waiting = Import.objects.filter(pk=row.pk, state=ImportState.STAGED)
    if not waiting.update(state=ImportState.CANCELED):
        raise begun()
    undo_import(import_id=row.pk)


def change_options(*, row: Import, **options: Unpack[import_plan.ImportOptions]) -> None:
    """Change options of a staged import. Raises ServiceError if it has started, or for an option that doesn't fit."""
    if "written_as" in options:
        import_plan.check_choices(row.format, options["written_as"])
    check_reading(options.get("encoding", ""), options.get("no_cleanup", ()))
    if "no_cleanup" in options:
        options["no_cleanup"] = sorted(set(options["no_cleanup"]))
    if not Import.objects.filter(pk=row.pk, state=ImportState.STAGED).update(**options):
        raise begun()


def change_format(*, row: Import, format: str) -> None:
    """Read the staged files in another format. Choices for labels begin anew, since the labels may differ.

    Raises ServiceError if the import has started, or if the format can't be chosen.
    """
    import_plan.check_choices(format, row.written_as)
    with open_upload(row) as source:
        found, notes = find_labels(format, source)
    waiting = Import.objects.filter(pk=row.pk, state=ImportState.STAGED)
    if not waiting.update(format=format, labels_found=found, notes_found=notes, label_choices={}):
        raise begun()


def same_waiting(row: Import) -> Import:
    """The first of equal waiting uploads by the same user, so that a double click stages one import.

    If `row` is a later one, it is deleted.
    """
    if row.stored_file is None:
        return row
    same = {
        name: getattr(row, name)
        for name in ("format", *import_plan.ImportOptions.__annotations__)
        if name != "take_duplicates"
    }
    waiting = Import.objects.filter(
        project=row.project_id, created_by=row.created_by_id, state=ImportState.STAGED, **same
    )
    first = waiting.filter(stored_file__sha256=row.stored_file.sha256).order_by("id").first()
    if first is None or first.pk >= row.pk:
        return row
    stored = row.stored_file
    row.delete()
    stored.delete()
    return first


# Start imports and exports as jobs.


def import_job(*, project: Project, import_id: int) -> Job | None:
    """The job of an import; None if the import has no job."""
    return Job.objects.filter(project=project, key=_import_key(import_id)).first()


def start_import(*, project: Project, import_id: int, actor: User, seen: str | None = None) -> Job:
    """Start a staged import, or return its job if it has started. Raises ServiceError if the upload was discarded.

    So it does if an unknown label has no choice, or if the choices differ from those that the person saw (`seen`).
    """
    with transaction.atomic():
        keep_labels(project.pk)
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        row = Import.objects.select_for_update().get(project=project, pk=import_id)
        if row.state == ImportState.STAGED:
            # A running import can be canceled, but no longer discarded.
            if row.labels_found is not None:
                unknown = unknown_of(row)
                if seen is not None and unknown.rows and seen != unknown.seen:
                    raise labels_changed()
                row.label_choices = complete_choices(row)
            row.state = ImportState.RUNNING
            row.save(update_fields=["state", "label_choices"])
            return enqueue(
                kind="import", project=project, params={"import_id": row.pk}, key=_import_key(row.pk), actor=actor
            )
    job = import_job(project=project, import_id=import_id)
    if job is None:
        message = _("This import can't be started. Its state is “%(state)s”. Upload the files again.")
        raise ServiceError(message % {"state": row.get_state_display()}, code="state")
    return job


def start_export(*, project: Project, actor: User, token: str = "", **asked: Any) -> Job:
    """Start an export; `asked`: see `ExportOrder`. The same `token` (one per form) gives the same job.

    Raises ServiceError.
    """
    order = ExportOrder(**asked)
    order.check(project)
    return once("export", project, order.as_params(), actor, token)


def unknown_set() -> ServiceError:
    """The error for annotation sets that don't exist, without the names of others.

    The message of `wanted_set` lists annotators, whom not everybody with the right to export may see.
    """
    return ServiceError(_("This project has no such annotation sets. Choose from the list."), code="set")


def _import_key(import_id: int) -> str:
    return f"{JOB_KEY}{import_id}"
