"""An annotator opens the outcome of a note: their own spans beside the adjudicated ones."""

from dataclasses import dataclass

from django.core.exceptions import PermissionDenied
from django.http import Http404

from annotations.agreement.rules.outcome import Fated, outcome
from annotations.core.access import Access
from annotations.core.events import NOTE_READ
from annotations.core.spans import own_set, spans_of
from annotations.models import AnnotationSet, AnnotationSetState, Document
from annotations.notes.selectors.comments import outcome_set
from annotations.text.spans import Span


@dataclass(frozen=True)
class OpenOutcome:
    """The adjudicated set, and what became of each span. The labels of the spans are ids."""

    adjudicated: AnnotationSet
    lines: list[Fated]


def open_outcome(*, access: Access, note: Document) -> OpenOutcome:
    """Return the outcome, and record that this person has seen it: they can't annotate the note blind any more.

    Raises Http404 before they have submitted the note or the adjudication is finished, and PermissionDenied where the
    project shows no outcomes.
    """
    own = own_set(note.pk, access.user)
    if own is None or own.state != AnnotationSetState.SUBMITTED:
        raise Http404("no submitted annotations of this person")
    if not access.project.show_outcome:
        raise PermissionDenied("this project shows no outcomes")
    adjudicated = outcome_set(access.project, note.pk)
    if adjudicated is None:
        raise Http404("not adjudicated yet")
    NOTE_READ.record(actor=access.user, project_id=note.project_id, document_id=note.pk, data={"what": "outcome"})
    return OpenOutcome(adjudicated, outcome(_spans(own.pk), _spans(adjudicated.pk)))


def _spans(pk: int) -> list[Span]:
    return [Span(span["start"], span["end"], str(span["label"])) for span in spans_of(pk)]
