"""Whether an annotator may have seen others' spans of a note before submitting their own."""

from annotations.models import Document, Membership, User
from annotations.notes.selectors.outcome import has_seen_outcome


def may_have_seen_others(document: Document, user: User) -> bool:
    """Whether this person has opened the note's outcome, or once had a role that may read every note.

    Not every page that shows others' spans records which notes were on it. A former viewer, reviewer or manager
    therefore counts as having seen every note that the project had until they left that role: too few annotation sets
    count as blind rather than too many.
    """
    return has_seen_outcome(document.pk, user) or _was_open_to(document, user)


def _was_open_to(document: Document, user: User) -> bool:
    members = Membership.objects.filter(project_id=document.project_id, user=user)
    until = members.values_list("read_others_until", flat=True).first()
    return until is not None and Document.objects.filter(pk=document.pk, created_at__lte=until).exists()
