"""Erase one patient's notes (GDPR, article 17), or one note: text, annotation sets, gold and stored copies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.hooks import patient_erased
from annotations.core.services import NOTE_DELETED, PATIENT_ERASED, Erasure, ServiceError, begin_erasure, check_open
from annotations.core.suggestions import remove_strings, tally_of
from annotations.exchange.services.sources import NoteRow
from annotations.ops.events import METADATA_SET, PATIENTS_SET
from annotations.ops.selectors.free_texts import weights_elsewhere
from annotations.release.selectors.known import is_known

# An erasure starts again if somebody saves on one of the notes at the same moment.
TRIES = 5
# Replaces the number of a forgotten string; real numbers are never negative (annotations.text.hashes).
NO_STRING = -1
_WITH_PROBLEMS = ("pairs", "records", "records_export")
"""The kinds of jobs whose results list files or records that were left out."""


def erasure_preview(*, project: models.Project, patient_id: str) -> Erasure:
    """Count what an erasure would delete. Raises ServiceError `none` for an unknown patient id."""
    return counted(project, _of_patient(project, patient_id))


def note_preview(*, project: models.Project, note: int) -> Erasure:
    """Count what deleting the note with this id would delete. Raises ServiceError `none` if there is no such note."""
    return counted(project, _of_id(project, note))


def erase_patient(*, project: models.Project, patient_id: str, actor: models.User | None) -> Erasure:
    """Delete the notes and everything derived from them. Return the counts.

    Frozen versions record how many notes they lost. Long work that has read the notes stores no results from them
    afterwards (annotations.core.services). The remaining events contain ids, offsets and labels, never text. Free
    texts (selectors.free_texts) and earlier backups (services.backup_list) stay; a person must check them.
    """

    def record(counts: Erasure, ids: list[int]) -> None:
        PATIENT_ERASED.record(actor=actor, project_id=project.pk, data={**counts, "documents": ids})

    return _erase_again_after_collisions(project, partial(_of_patient, project, patient_id), record, patient_id)


def delete_note(*, project: models.Project, note: int, actor: models.User | None) -> Erasure:
    """Delete one note, for example one imported by mistake, with the reach of `erase_patient`. Return the counts."""

    def record(counts: Erasure, ids: list[int]) -> None:
        NOTE_DELETED.record(actor=actor, project_id=project.pk, document_id=note, data=counts)

    return _erase_again_after_collisions(project, partial(_of_id, project, note), record, "")


def _of_patient(project: models.Project, patient_id: str) -> QuerySet[models.Document]:
    notes = models.Document.objects.filter(project=project, patient_id=patient_id)
    if not patient_id or not (notes.exists() or is_known(project, patient_id)):
        raise ServiceError(_("No note in this project has this patient ID. Nothing was erased."), code="none")
    return notes


def _of_id(project: models.Project, note: int) -> QuerySet[models.Document]:
    notes = models.Document.objects.filter(project=project, pk=note)
    if not notes.exists():
        raise ServiceError(_("This note no longer exists. Nothing was deleted."), code="none")
    return notes


def counted(project: models.Project, notes: QuerySet[models.Document]) -> Erasure:
    """Count what an erasure of these notes would delete."""
    return {
        "notes": notes.count(),
        "annotation_sets": notes.filter(annotation_sets__isnull=False).values("annotation_sets").count(),
        "gold_versions": models.GoldVersionNote.objects.filter(document__in=notes).values("version").distinct().count(),
        "stored_files": _deletable_files(project, notes).count(),
        # Trained weights may contain words of the notes. They are counted, so that a manager can retire the models.
        # Those of other projects that learned from this project's gold count too.
        "models": models.StoredFile.objects.filter(project=project, kind=models.StoredFileKind.MODEL).count()
        + len(weights_elsewhere(project)),
        "copies": copies_of(notes).count(),
    }


def copies_of(notes: QuerySet[models.Document]) -> QuerySet[models.Document]:
    """The notes of other projects with the same text as one of these, for example in a copy of the whole project."""
    return models.Document.objects.filter(sha256__in=notes.values("sha256")).exclude(
        project__in=notes.values("project")
    )


Chosen = Callable[[], QuerySet[models.Document]]
Record = Callable[[Erasure, list[int]], None]


def _erase_again_after_collisions(project: models.Project, chosen: Chosen, record: Record, patient: str) -> Erasure:
    for tries_left in reversed(range(TRIES)):
        try:
            return _erase(project, chosen, record, patient)
        except (IntegrityError, OperationalError):
            if not tries_left or connection.in_atomic_block:
                raise
    raise AssertionError("The last try returns or raises.")


def _erase(project: models.Project, chosen: Chosen, record: Record, patient: str) -> Erasure:
    """Erase the chosen notes in one transaction. `chosen` raises ServiceError if there are none."""
    with transaction.atomic():
        begin_erasure(project.pk)
        models.Project.objects.select_for_update().get(pk=project.pk)
        check_open(project.pk)
        running = models.Import.objects.select_for_update().filter(project=project, state=models.ImportState.RUNNING)
        if running.exists():
            message = _("An import is running and could add these notes again. Wait until it finishes, or cancel it.")
            raise ServiceError(message, code="import")
        notes = chosen()
        preview = counted(project, notes)
        ids = list(notes.select_for_update().order_by("pk").values_list("pk", flat=True))
        # Locking the sets waits for changes under way; the locked notes keep new sets from being made.
        locked_sets = (
            models.AnnotationSet.objects.select_for_update().filter(document__in=ids).order_by("document_id", "pk")
        )
        list(locked_sets.values_list("pk"))
        _count_in_versions(ids)
        _clear_reports(project)
        _deletable_files(project, models.Document.objects.filter(pk__in=ids)).delete()
        models.Figures.objects.filter(project=project).delete()
        # Comments and flags are deleted with their notes. Each feature erases its other data itself.
        patient_erased(project=project, notes=ids, patient=patient)
        spans = models.Span.objects.filter(annotation_set__document__in=ids)
        tally = tally_of(spans)
        strings = set(spans.order_by().values_list("string_key", flat=True))
        models.Document.objects.filter(pk__in=ids).delete()
        remove_strings(tally)
        _forget_strings(project, strings)
        # A database trigger marked the notes when their submitted sets were deleted.
        models.Stale.objects.filter(document_id__in=ids).delete()
        models.ChangedGold.objects.filter(project_id=project.pk, document_id__in=ids).delete()
        record(preview, ids)
        transaction.on_commit(empty_write_ahead_log)
    return preview


def _deletable_files(project: models.Project, notes: QuerySet[models.Document]) -> "QuerySet[models.StoredFile]":
    """Uploads and exports, but not the weights of trained models; of original documents, those of the notes.

    An original with several notes is deleted with the first of them, since it holds their texts.
    """
    originals = models.DocumentSource.objects.filter(document__in=notes, original__isnull=False).values("original")
    kept = [models.StoredFileKind.MODEL, models.StoredFileKind.ORIGINAL]
    return models.StoredFile.objects.filter(project=project).filter(~Q(kind__in=kept) | Q(pk__in=originals))


def empty_write_ahead_log() -> None:
    """Truncate SQLite's write-ahead log, because it and the pages that it replaces still contain the erased text.

    If a long read prevents this, a later erasure or the next stop of deidreview truncates the log.
    """
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _count_in_versions(documents: Sequence[int]) -> None:
    """Record in every frozen version how many of its notes are erased."""
    held = models.GoldVersionNote.objects.filter(version=OuterRef("pk"), document__in=documents).order_by()
    counted = held.values("version").annotate(number=Count("pk")).values("number")
    versions = models.GoldVersion.objects.filter(Exists(held))
    versions.update(erased_count=F("erased_count") + Subquery(counted))


def _clear_reports(project: models.Project) -> None:
    """Replace all lines of all import reports by counts, because a line may name a file of the patient or of the note.
    Results of jobs lose theirs.

    Labels of the files are deleted too: in a damaged annotation file, a word of the text may stand in their place.
    """
    cleared = []
    for done in models.Import.objects.filter(project=project):
        lines = {key: len(done.report.get(key, [])) for key in ("refused", "warnings")}
        named = done.report.get("labels") or done.report.get("layers")
        if any(lines.values()) or named or done.labels_found or done.label_choices:
            done.report.pop("labels", None)
            if layers := done.report.get("layers"):
                done.report["layers"] = {layer: {} for layer in layers}
            done.labels_found, done.label_choices = None, {}
            for key, count in lines.items():
                done.report[key] = []
                done.report[f"{key}_more"] = done.report.get(f"{key}_more", 0) + count
            if any(lines.values()):
                done.report["cleared"] = True
            cleared.append(done)
    models.Import.objects.bulk_update(cleared, ["report", "labels_found", "label_choices"])
    # A file may have the name of the patient, and a refused row may be the patient's.
    for job in models.Job.objects.filter(project=project, kind__in=_WITH_PROBLEMS, result__has_key="problems"):
        del job.result["problems"]
        job.save(update_fields=["result"])


def _forget_strings(project: models.Project, strings: set[int | None]) -> None:
    """Remove the numbers of strings that no note contains any more from bulk acts.

    A string's number is a hash, so a person who knows a name could test whether a bulk act was about that name.
    """
    by_string = models.BulkAct.objects.filter(project=project, rule__kind="string")
    acts = [act for act in by_string if act.rule.get("string") in strings]
    if not acts:
        return
    named = {act.rule["string"] for act in acts}
    spans = models.Span.objects.filter(annotation_set__document__project=project, string_key__in=named).order_by()
    present = set(spans.values_list("string_key", flat=True).distinct())
    forgotten = [act for act in acts if act.rule["string"] not in present]
    for act in forgotten:
        act.rule["string"] = NO_STRING
    models.BulkAct.objects.bulk_update(forgotten, ["rule"])


# Set the patient ids, types and sites of notes. An erasure finds a patient's notes by this id.


BATCH = 500


@dataclass(frozen=True)
class SetRows:
    """How many patient ids were changed and how many are the same, rows that say nothing, notes with another type or
    site (`metadata`), and the names that match no note, in order."""

    changed: int
    same: int
    without_id: int
    metadata: int
    unknown: list[str]


def set_rows(*, project: models.Project, rows: Mapping[str, NoteRow], actor: models.User | None) -> SetRows:
    """Set patient ids, types and sites by note name. Audits are stratified, and scores split, by type and site.

    An empty cell changes nothing: it must not put a note out of reach of an erasure. The events contain counts only.
    """
    given = {name: row for name, row in rows.items() if name and any(row)}
    names, known = list(given), set[str]()
    changed = same = metadata = 0
    with transaction.atomic():
        for at in range(0, len(names), BATCH):
            notes = models.Document.objects.filter(project=project, name__in=names[at : at + BATCH])
            moved: list[models.Document] = []
            about: list[models.NoteMetadata] = []
            columns = ("pk", "name", "patient_id", "metadata__note_type", "metadata__site")
            for pk, name, patient, note_type, site in notes.values_list(*columns):
                known.add(name)
                row, before = given[name], (note_type or "", site or "")
                after = (row.note_type or before[0], row.site or before[1])
                if row.patient and row.patient != patient:
                    moved.append(models.Document(pk=pk, patient_id=row.patient))
                same += bool(row.patient and row.patient == patient)
                if after != before:
                    about.append(models.NoteMetadata(document_id=pk, note_type=after[0], site=after[1]))
            models.Document.objects.bulk_update(moved, ["patient_id"])
            models.NoteMetadata.objects.bulk_create(
                about, update_conflicts=True, unique_fields=["document"], update_fields=["note_type", "site"]
            )
            changed, metadata = changed + len(moved), metadata + len(about)
        for verb, number in ((PATIENTS_SET, changed), (METADATA_SET, metadata)):
            if number:
                verb.record(actor=actor, project_id=project.pk, data={"notes": number})
    return SetRows(changed, same, len(rows) - len(given), metadata, sorted(given.keys() - known))
