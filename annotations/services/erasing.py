"""Erasing one patient's notes (GDPR, article 17): text, readings, gold and stored copies."""

from typing import Any

from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.utils.translation import gettext as _

from annotations.models import Document, GoldVersion, GoldVersionNote, Import, Project, Span, StoredFile, User, Verb
from annotations.services.errors import ServiceError
from annotations.services.events import record
from annotations.services.proposed_strings import remove_strings, tally_of
from annotations.services.searching import forget_searches


def erasure_preview(*, project: Project, patient_id: str) -> dict[str, Any]:
    """What would go, in counts, before anything goes."""
    notes = Document.objects.filter(project=project, patient_id=patient_id)
    if not patient_id or not notes.exists():
        raise ServiceError(_("no note in this project carries that patient id; nothing was erased"), code="none")
    return {
        "notes": notes.count(),
        "annotation_sets": notes.filter(annotation_sets__isnull=False).values("annotation_sets").count(),
        "gold_versions": GoldVersionNote.objects.filter(document__in=notes).values("version").distinct().count(),
        "stored_files": _passing_files(project).count(),
        # Their weights may know the patient's name by heart: a manager retires them and trains anew.
        "models": StoredFile.objects.filter(project=project, kind=StoredFile.Kind.MODEL).count(),
    }


def erase_patient(*, project: Project, patient_id: str, actor: User | None) -> dict[str, Any]:
    """Delete the notes and everything made of them; frozen versions say how many notes they lost.

    The events that remain hold ids, offsets and labels, never text. Backups made earlier still hold the notes: whoever
    keeps them must let them expire.
    """
    with transaction.atomic():
        # A training that ends at this moment is kept before, and counted below, or sees the erasure and is not.
        Project.objects.select_for_update().get(pk=project.pk)
        running = Import.objects.select_for_update().filter(project=project, state=Import.State.RUNNING)
        if running.exists():
            raise ServiceError(
                _("an import is under way and could bring this patient's notes back: wait for its end, or cancel it"),
                code="import",
            )
        preview = erasure_preview(project=project, patient_id=patient_id)
        notes = Document.objects.filter(project=project, patient_id=patient_id)
        ids = list(notes.values_list("pk", flat=True))
        names = set(notes.values_list("name", flat=True))
        for version in GoldVersion.objects.filter(notes__document__in=ids).distinct():
            held = GoldVersionNote.objects.filter(version=version, document__in=ids).count()
            GoldVersion.objects.filter(pk=version.pk).update(erased_count=F("erased_count") + held)
        _scrub_reports(project, names)
        _passing_files(project).delete()
        # Comments and flags go with their notes; what was searched for may be the patient's name.
        forget_searches(project=project)
        gone = tally_of(Span.objects.filter(annotation_set__document__in=ids))
        Document.objects.filter(pk__in=ids).delete()
        remove_strings(gone)
        record(verb=Verb.PATIENT_ERASED, actor=actor, project_id=project.pk, data=preview | {"documents": ids})
        transaction.on_commit(_empty_write_ahead_log)
    return preview


def _passing_files(project: Project) -> "QuerySet[StoredFile]":
    return StoredFile.objects.filter(project=project).exclude(kind=StoredFile.Kind.MODEL)


def _empty_write_ahead_log() -> None:
    """On SQLite the text stands in the log, and in the pages behind it, until the log is written back and cut off.

    Best effort: where a long read is in the way, a later erasure or the product's next stop does it.
    """
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _scrub_reports(project: Project, names: set[str]) -> None:
    """Import reports name files, and a file name can name a patient."""
    for done in Import.objects.filter(project=project):
        changed = False
        for key in ("refused", "warnings"):
            kept = [row for row in done.report.get(key, []) if not _names_one_of(row, names)]
            if len(kept) != len(done.report.get(key, [])):
                done.report[key] = kept
                changed = True
        if changed:
            done.save(update_fields=["report"])


def _names_one_of(row: dict[str, Any], names: set[str]) -> bool:
    file, message = str(row.get("file", "")), str(row.get("message", ""))
    if file in names or file.rpartition(".")[0] in names:
        return True
    # A duplicate's line quotes the note that it equals.
    return row.get("code") == "duplicate" and any(repr(name) in message for name in names)
