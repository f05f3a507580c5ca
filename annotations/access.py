"""Who may do what, in one place: pages, commands and jobs all ask here.

Objects are always reached through the person's project. A stranger gets 404, so that a project's existence
stays unknown; a member who lacks a right gets 403.
"""

from dataclasses import dataclass
from enum import StrEnum

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404

from annotations.models import Assignment, Document, Membership, Project, Role, User


class Can(StrEnum):
    """Rights. `READ_NOTES` is every note with everyone's spans; annotators have only what is theirs to read."""

    SEE_PROJECT = "see the project"
    ANNOTATE = "annotate notes"
    READ_NOTES = "read every note"
    MAKE_GOLD = "make gold"
    EXPORT = "export notes"
    SEE_AUDIT = "see the audit log"
    MANAGE = "manage the project"


_REVIEWER = {Can.SEE_PROJECT, Can.READ_NOTES, Can.ANNOTATE, Can.MAKE_GOLD, Can.EXPORT}
RIGHTS: dict[str, frozenset[Can]] = {
    Role.VIEWER: frozenset({Can.SEE_PROJECT, Can.READ_NOTES}),
    Role.ANNOTATOR: frozenset({Can.SEE_PROJECT, Can.ANNOTATE}),
    Role.REVIEWER: frozenset(_REVIEWER),
    Role.MANAGER: frozenset(_REVIEWER | {Can.SEE_AUDIT, Can.MANAGE}),
}


@dataclass(frozen=True)
class Access:
    """A person inside a project."""

    project: Project
    membership: Membership
    user: User

    def can(self, right: Can) -> bool:
        return right in RIGHTS[self.membership.role]

    @property
    def rights(self) -> dict[str, bool]:
        """For templates: {{ access.rights.MANAGE }}."""
        return {right.name: self.can(right) for right in Can}

    @property
    def blind(self) -> bool:
        """Whether this person sees nobody else's spans."""
        return not self.can(Can.READ_NOTES)


def enter(user: User, slug: str, right: Can = Can.SEE_PROJECT) -> Access:
    """The project `slug` for this person. Raises Http404 for strangers, PermissionDenied where the right is missing."""
    membership = (
        Membership.objects.select_related("project")
        .filter(project__slug=slug, user_id=user.pk, active=True)
        .first()
    )
    if membership is None:
        raise Http404("no such project")
    access = Access(membership.project, membership, user)
    require(access, right)
    return access


def require(access: Access, right: Can) -> None:
    if not access.can(right):
        raise PermissionDenied(f"a {access.membership.role} may not {right}")


def notes_for(access: Access) -> QuerySet[Document]:
    """The notes this person may open: all of them, or those assigned to them (done ones too)."""
    notes = Document.objects.filter(project_id=access.project.pk)
    if access.can(Can.READ_NOTES):
        return notes
    return notes.filter(
        assignments__user_id=access.user.pk, assignments__state__in=[Assignment.State.OPEN, Assignment.State.DONE]
    )


def note_for(access: Access, pk: int) -> Document:
    """One note, or 404 as if it did not exist."""
    note = notes_for(access).filter(pk=pk).first()
    if note is None:
        raise Http404("no such note")
    return note


def may_create_projects(user: User) -> bool:
    """Administrators, and whoever manages a project already."""
    return user.is_staff or user.memberships.filter(role=Role.MANAGER, active=True).exists()
