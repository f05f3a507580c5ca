"""What annotators may see of a note once it is adjudicated."""

from annotations.models import (
    AnnotationSet,
    Author,
    Event,
    Project,
    User,
    Verb,
)


def adjudicated_set(document_id: int) -> AnnotationSet | None:
    return AnnotationSet.objects.filter(document_id=document_id, author__kind=Author.Kind.ADJUDICATED).first()


def outcome_set(project: Project, document_id: int) -> AnnotationSet | None:
    """What annotators may see of a note once its adjudication is closed; None before, or where the project keeps it."""
    if not project.show_outcome:
        return None
    found = adjudicated_set(document_id)
    return found if found and found.state == AnnotationSet.State.SUBMITTED else None


def has_seen_outcome(document_id: int, user: User) -> bool:
    """Whether this person has opened the outcome of the note: what they hand in after that is not blind."""
    return Event.objects.filter(document_id=document_id, actor=user, verb=Verb.NOTE_READ, data__what="outcome").exists()
