"""Show how a policy would release a note. Nothing is stored."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from annotations.core.services import NOTE_READ, ServiceError
from annotations.models import Document, LeakFinding, Project, Release, ReleasedNote, ReleasePolicy, User
from annotations.release.rules.redaction.policy import Action, IdentifierType, LabelRule, Policy, rules_for
from annotations.release.rules.redaction.released import RedactedText
from annotations.release.services.batches import MEANWHILE, retried
from annotations.release.services.policies import codes_of, completed, kinds_in, read_policy
from annotations.release.services.preparing import PreparedNote, Preparer
from annotations.release.services.replacing import Original
from annotations.release.services.sources import ReleasedAnnotations, covered_notes, source_of
from annotations.text.spans import Span

MOST_SIBLINGS = 100
"""A preview reads at most this many other notes of the patient."""


@dataclass(frozen=True, slots=True)
class ReleasePreview:
    """A note, its chosen spans, its released text, and the findings of the leak gate in it."""

    text: str
    spans: Sequence[Span]
    released: RedactedText
    leaks: Sequence[LeakFinding]


def preview(*, project: Project, set_spec: str, policy: ReleasePolicy, document: Document) -> ReleasePreview:
    """Prepare one note as a release would. `policy` may be a shipped one that was never saved, and lack labels.

    New surrogates are not stored, so another preview may show others until a release has made them. Raises
    ServiceError: `set` or `version` for unknown annotations, `empty` if the note has none, `unmapped` for a label
    without a rule.
    """
    source = source_of(project, set_spec)
    notes = covered_notes(project, source).defer(None)
    if not notes.filter(pk=document.pk).exists():
        raise ServiceError(_("This note has no such annotations, so a release of them leaves it out."), code="empty")
    same = notes.filter(patient_id=document.patient_id).exclude(pk=document.pk)
    preparer = Preparer(project, read_policy(completed(project, policy).rules), source)

    def prepared() -> ReleasePreview:
        siblings = same[:MOST_SIBLINGS] if document.patient_id else ()
        note, *others = preparer.originals([(one, ()) for one in [document, *siblings]])
        found = _unstored(preparer, note, others)
        leaks = [one for one in found.found if one.where == LeakFinding.Where.TEXT]
        return ReleasePreview(note.text, note.spans, found.released, leaks)

    return retried(prepared)


def _unstored(preparer: Preparer, note: Original, siblings: Sequence[Original] = ()) -> PreparedNote:
    """Prepare a note; the new surrogates are not stored."""
    with transaction.atomic():
        (prepared,) = preparer.prepare([note], siblings)
        transaction.set_rollback(True)
    return prepared


@dataclass(frozen=True, slots=True)
class PlacedPreview:
    """A previewed note among all notes of the release: its neighbors' ids, its position from 1, and their number."""

    note: Document
    preview: ReleasePreview
    previous: int | None
    following: int | None
    position: int
    total: int


def preview_placed(
    *, project: Project, set_spec: str, policy: ReleasePolicy, actor: User, wanted: int = 0
) -> PlacedPreview:
    """Preview the first note of the release with the id `wanted` or a higher one, else the first note.

    Nothing is stored but that the note was read. Raises ServiceError as `preview`, and `empty` if the release would
    have no notes.
    """
    notes = covered_notes(project, source_of(project, set_spec))
    note = notes.filter(pk__gte=wanted).first() or notes.first()
    if note is None:
        raise ServiceError(_("No note has these annotations."), code="empty")
    shown = preview(project=project, set_spec=set_spec, policy=policy, document=note)
    NOTE_READ.record(actor=actor, project_id=project.pk, document_id=note.pk, data={"what": "release preview"})
    return PlacedPreview(
        note,
        shown,
        notes.filter(pk__lt=note.pk).order_by("-pk").values_list("pk", flat=True).first(),
        notes.filter(pk__gt=note.pk).values_list("pk", flat=True).first(),
        notes.filter(pk__lte=note.pk).count(),
        notes.count(),
    )


def show_released(*, release: Release, note: int, actor: User) -> ReleasedNote:
    """Return a note of the release by the id of its original, and record that somebody read it. Raises Http404."""
    row = get_object_or_404(ReleasedNote.objects.select_related("document"), release=release, document_id=note)
    NOTE_READ.record(actor=actor, project_id=release.project_id, document_id=note, data={"what": "released note"})
    return row


# The text of a note with placeholders or surrogates, for people who may read the original. Nothing is stored.


MASKED, SURROGATES = "masked", "surrogates"
VIEWS = (MASKED, SURROGATES)


def viewed(*, document: Document, spans: Sequence[Span], view: str) -> RedactedText:
    """The note's text with these spans masked, or replaced by surrogates of the project's index.

    Surrogates follow the shipped policy; a label without a kind is masked. New surrogates are not stored, so they may
    change until a release has made them. Raises ServiceError `note` for a note that is being erased.
    """
    project = document.project
    codes = codes_of(project)
    rules = {code: LabelRule(IdentifierType.OTHER, Action.MASK) for code in codes}
    if view == SURROGATES:
        rules |= rules_for("surrogate", kinds_in(project))
    language = document.language or project.language
    note = Original(document.pk, document.name, document.text, language, document.patient_id, spans)
    preparer = Preparer(project, Policy(rules), ReleasedAnnotations("", ()))

    def prepared() -> RedactedText:
        try:
            return _unstored(preparer, note).released
        except MEANWHILE:
            if not Document.objects.filter(pk=document.pk).exists():
                raise ServiceError(_("This note no longer exists. Reload the page."), code="note") from None
            raise

    return retried(prepared)
