"""Whether somebody may have seen what others marked in a note, before they submit a reading of it themselves."""

from annotations.models import Document, Membership, User
from annotations.notes.selectors.outcome import has_seen_outcome


def may_have_seen_others(document: Document, user: User) -> bool:
    """Whether this person has been shown the note's outcome, or once held a role that reads every note.

    Not every page that shows others' spans records which notes were on it. So a former viewer, reviewer or manager
    counts as having seen each note that the project had until they gave that role up: rather too few readings count
    as blind than too many.
    """
    return has_seen_outcome(document.pk, user) or _was_open_to(document, user)


def _was_open_to(document: Document, user: User) -> bool:
    members = Membership.objects.filter(project_id=document.project_id, user=user)
    until = members.values_list("read_others_until", flat=True).first()
    return until is not None and Document.objects.filter(pk=document.pk, created_at__lte=until).exists()
