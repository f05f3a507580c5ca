"""Show how a policy would release a note. Nothing is stored."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import Document, LeakFinding, Project, ReleasePolicy
from annotations.release.rules.redaction.released import Released
from annotations.release.services.batches import MEANWHILE, again
from annotations.release.services.naming import covered_notes
from annotations.release.services.policies import completed, read_policy
from annotations.release.services.preparing import PreparedFinding, Preparer
from annotations.release.services.replacing import Original
from annotations.release.services.sources import ReleasedAnnotations, source_of
from annotations.text.spans import Span

MOST_SIBLINGS = 100
"""A preview reads at most this many other notes of the patient."""


@dataclass(frozen=True, slots=True)
class ReleasePreview:
    """A note, its chosen spans, its released text, and the findings of the leak gate in it."""

    text: str
    spans: Sequence[Span]
    released: Released
    leaks: Sequence[PreparedFinding]


def preview(*, project: Project, set_spec: str, policy: ReleasePolicy, document: Document) -> ReleasePreview:
    """Prepare one note as a release would. `policy` may be a shipped one that was never saved, and lack labels.

    New surrogates are not stored, so another preview may show others until a release has made them. Raises
    ServiceError: `set` or `version` for unknown annotations, `empty` if the note has none, `unmapped` for a label
    without a rule.
    """
    source = source_of(project, set_spec)
    if not source.covers(document):
        raise ServiceError(_("This note has no such annotations, so a release of them leaves it out."), code="empty")
    preparer = Preparer(project, read_policy(completed(project, policy).rules), source)
    for _try in again():
        note, *siblings = preparer.originals([(one, ()) for one in [document, *_siblings(source, document)]])
        try:
            return _prepared(preparer, note, siblings)
        except MEANWHILE:
            continue
    raise AssertionError("The last try returns or raises.")


@dataclass(frozen=True, slots=True)
class Placed:
    """A previewed note among all notes of the release: its neighbors' ids, its position from 1, and their number."""

    note: Document
    preview: ReleasePreview
    previous: int | None
    following: int | None
    position: int
    total: int


def preview_placed(*, project: Project, set_spec: str, policy: ReleasePolicy, wanted: int = 0) -> Placed:
    """Preview the first note of the release with the id `wanted` or a higher one, else the first note.

    Raises ServiceError as `preview`, and `empty` if the release would have no notes.
    """
    notes = covered_notes(project, source_of(project, set_spec))
    note = notes.filter(pk__gte=wanted).first() or notes.first()
    if note is None:
        raise ServiceError(_("No note has these annotations."), code="empty")
    return Placed(
        note,
        preview(project=project, set_spec=set_spec, policy=policy, document=note),
        notes.filter(pk__lt=note.pk).order_by("-pk").values_list("pk", flat=True).first(),
        notes.filter(pk__gt=note.pk).values_list("pk", flat=True).first(),
        notes.filter(pk__lte=note.pk).count(),
        notes.count(),
    )


def _prepared(preparer: Preparer, note: Original, siblings: Sequence[Original]) -> ReleasePreview:
    if not preparer.makes_surrogates:
        (prepared,) = preparer.prepare([note], siblings)
    else:
        with transaction.atomic():
            (prepared,) = preparer.prepare([note], siblings)
            transaction.set_rollback(True)
    found = [one for one in prepared.found if one.where == LeakFinding.Where.TEXT]
    return ReleasePreview(note.text, note.spans, prepared.released, found)


def _siblings(source: ReleasedAnnotations, document: Document) -> list[Document]:
    if not document.patient_id:
        return []
    notes = Document.objects.filter(project=document.project_id, patient_id=document.patient_id)
    others = notes.exclude(pk=document.pk).order_by("id")[:MOST_SIBLINGS]
    return [note for note in others if source.covers(note)]
