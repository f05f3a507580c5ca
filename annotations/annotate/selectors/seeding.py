"""Which run's spans an annotator's annotation set begins from, where the project seeds annotations."""

from annotations.core.access import Access
from annotations.models import AnnotationSet, AnnotationSetState, Assignment, AssignmentState, Author, Document

UNSTARTED = "unstarted"
"""The state that pages get for a note whose annotation set is still to be started from a run's spans; never stored."""


def seed_of(access: Access, note: Document) -> AnnotationSet | None:
    """The run's submitted set that this person's annotations of `note` begin from; None where they begin empty.

    Only a person to whom the note is assigned begins from a run: whoever just looks at the note starts nothing.
    """
    run = access.project.seed_from_id
    if run is None or not _is_assigned(access, note):
        return None
    return (
        AnnotationSet.objects.filter(document_id=note.pk, author_id=run, author__kind__in=Author.MODELS)
        .filter(state=AnnotationSetState.SUBMITTED)
        .first()
    )


def state_of(access: Access, note: Document, annotation_set: AnnotationSet | None) -> str:
    """The state of this person's annotations of `note`, as pages get it."""
    if annotation_set is not None:
        return annotation_set.state
    return AnnotationSetState.DRAFT if seed_of(access, note) is None else UNSTARTED


def _is_assigned(access: Access, note: Document) -> bool:
    mine = Assignment.objects.filter(document_id=note.pk, user_id=access.user.pk)
    return mine.exclude(state=AssignmentState.RELEASED).exists()
