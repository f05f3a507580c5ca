"""Erasing one patient's notes (GDPR, article 17): text, readings, gold and stored copies."""

from functools import partial
from typing import Any

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import F, QuerySet
from django.utils.translation import gettext as _

from annotations.core.erasures import begin_erasure
from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.core.hooks import patient_erased, patient_gone
from annotations.core.proposed_strings import remove_strings, tally_of
from annotations.models import (
    AnnotationSet,
    BulkAct,
    Document,
    Figures,
    GoldVersion,
    GoldVersionNote,
    Import,
    Project,
    Span,
    Stale,
    StoredFile,
    User,
    Verb,
)

# Somebody may be saving on one of the notes in this very moment: then the erasure begins again.
TRIES = 5
# In the place of the number that stood for a string (annotations.domain.strings), which is never negative.
NO_STRING = -1


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
    """Delete the notes and everything made of them; frozen versions say how many notes they lost. Returns the counts.

    Long work that has read the notes stores nothing of them afterwards (annotations.core.erasures). The events that
    remain hold ids, offsets and labels, never text. What people wrote in their own words stays, to be looked through
    (selectors.free_texts), and so do backups made earlier (services.backup_list).
    """
    for left in reversed(range(TRIES)):
        try:
            return _erase(project, patient_id, actor)
        except (IntegrityError, OperationalError):
            if not left or connection.in_atomic_block:
                raise
    raise AssertionError("the last try returns or raises")


def _erase(project: Project, patient_id: str, actor: User | None) -> dict[str, Any]:
    with transaction.atomic():
        begin_erasure(project.pk)
        Project.objects.select_for_update().get(pk=project.pk)
        running = Import.objects.select_for_update().filter(project=project, state=Import.State.RUNNING)
        if running.exists():
            raise ServiceError(
                _("an import is under way and could bring this patient's notes back: wait for its end, or cancel it"),
                code="import",
            )
        preview = erasure_preview(project=project, patient_id=patient_id)
        notes = Document.objects.filter(project=project, patient_id=patient_id)
        ids = list(notes.select_for_update().values_list("pk", flat=True))
        # Whoever has a reading in hand ends first; nobody begins another one.
        list(AnnotationSet.objects.select_for_update().filter(document__in=ids).values_list("pk"))
        for version in GoldVersion.objects.filter(notes__document__in=ids).distinct():
            held = GoldVersionNote.objects.filter(version=version, document__in=ids).count()
            GoldVersion.objects.filter(pk=version.pk).update(erased_count=F("erased_count") + held)
        _clear_reports(project)
        _passing_files(project).delete()
        Figures.objects.filter(project=project).delete()
        # Comments and flags go with their notes; what lies elsewhere each feature erases itself.
        patient_erased(project=project)
        spans = Span.objects.filter(annotation_set__document__in=ids)
        gone = tally_of(spans)
        strings = set(spans.order_by().values_list("string_key", flat=True))
        Document.objects.filter(pk__in=ids).delete()
        remove_strings(gone)
        _forget_strings(project, strings)
        # The deletion of a submitted reading asks for a new comparison of its note.
        Stale.objects.filter(document_id__in=ids).delete()
        record(verb=Verb.PATIENT_ERASED, actor=actor, project_id=project.pk, data=preview | {"documents": ids})
        transaction.on_commit(_empty_write_ahead_log)
        transaction.on_commit(partial(patient_gone, project=project))
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


def _clear_reports(project: Project) -> None:
    """Import reports name files that were refused, and nobody knows which of them are the patient's: all lines go.

    The counts stay.
    """
    for done in Import.objects.filter(project=project):
        lines = {key: len(done.report.get(key, [])) for key in ("refused", "warnings")}
        if any(lines.values()):
            for key, count in lines.items():
                done.report[key] = []
                done.report[f"{key}_more"] = done.report.get(f"{key}_more", 0) + count
            done.report["cleared"] = True
            done.save(update_fields=["report"])


def _forget_strings(project: Project, strings: set[int | None]) -> None:
    """The number that stands for a string could be guessed from names: acts on strings that are nowhere any more lose
    it."""
    for act in BulkAct.objects.filter(project=project, rule__kind="string"):
        string = act.rule.get("string")
        left = Span.objects.filter(annotation_set__document__project=project, string_key=string)
        if string in strings and not left.exists():
            act.rule["string"] = NO_STRING
            act.save(update_fields=["rule"])
