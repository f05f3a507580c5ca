"""What annotators may see of a note after its adjudication."""

from annotations.core.events import NOTE_READ
from annotations.models import (
    AnnotationSet,
    AnnotationSetState,
    AuthorKind,
    Event,
    Project,
    User,
)


def adjudicated_set(document_id: int) -> AnnotationSet | None:
    return AnnotationSet.objects.filter(document_id=document_id, author__kind=AuthorKind.ADJUDICATED).first()


def outcome_set(project: Project, document_id: int) -> AnnotationSet | None:
    """The adjudicated set, if annotators may see it: after adjudication, unless the project hides it."""
    if not project.show_outcome:
        return None
    found = adjudicated_set(document_id)
    return found if found and found.state == AnnotationSetState.SUBMITTED else None


def has_seen_outcome(document_id: int, user: User) -> bool:
    """Whether the user has opened the outcome of the note. Annotations that they submit later are not blind."""
    return Event.objects.filter(document_id=document_id, actor=user, verb=NOTE_READ, data__what="outcome").exists()
