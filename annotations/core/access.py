"""Who may do what, in one place: pages, commands and jobs all ask here.

Objects are always reached through the person's project. A stranger gets 404, so that a project's existence
stays unknown; a member who lacks a right gets 403.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404

from annotations.models import Assignment, Document, Membership, Project, Role, User
from annotations.models.prepared import PreparedRead, columns_of, object_of

# An address may hold any number; a prepared statement takes no more than the column does.
BIGGEST_ID = 2**63 - 1


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
    def unnamed(self) -> bool:
        """Whether this person isn't to know which annotator said what, since they may adjudicate."""
        return self.project.anonymous_adjudication and not self.can(Can.MANAGE)

    @property
    def blind(self) -> bool:
        """Whether this person sees nobody else's spans."""
        return not self.can(Can.READ_NOTES)


_MEMBER_COLUMNS = columns_of(Membership, without=["joined_at", "removed_at", "read_others_until"])
_PROJECT_COLUMNS = columns_of(Project, without=["guidelines", "created_at"])
# Every request of a member begins with this one.
_MEMBER = PreparedRead(
    lambda slug, user: Membership.objects.filter(project__slug=slug, user_id=user, active=True).values_list(
        *_MEMBER_COLUMNS, *(f"project__{column}" for column in _PROJECT_COLUMNS)
    )[:1],
    str,
    int,
)


def enter(user: User, slug: str, right: Can = Can.SEE_PROJECT) -> Access:
    """The project `slug` for this person. Raises Http404 for strangers, PermissionDenied where the right is missing."""
    row = _MEMBER.first(slug, user.pk)
    if row is None:
        raise Http404("no such project")
    # What is not among these columns (guidelines, dates) is read when somebody asks for it.
    project = object_of(Project, _PROJECT_COLUMNS, row[len(_MEMBER_COLUMNS) :])
    membership = object_of(Membership, _MEMBER_COLUMNS, row[: len(_MEMBER_COLUMNS)])
    membership.project = project
    access = Access(project, membership, user)
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


_NOTE_COLUMNS = columns_of(Document, without=["created_at"])


@cache
def _one_note(role: Role) -> PreparedRead:
    def rows(project: int, pk: int, user: int = 0) -> "QuerySet[Document, Any]":
        access = Access(Project(pk=project), Membership(role=role), User(pk=user))
        return notes_for(access).filter(pk=pk).values_list(*_NOTE_COLUMNS)[:1]

    return PreparedRead(rows, *[int] * (2 if Can.READ_NOTES in RIGHTS[role] else 3))


def note_for(access: Access, pk: int) -> Document:
    """One note, or 404 as if it did not exist."""
    if pk > BIGGEST_ID:
        raise Http404("no such note")
    whose = () if access.can(Can.READ_NOTES) else (access.user.pk,)
    row = _one_note(Role(access.membership.role)).first(access.project.pk, pk, *whose)
    if row is None:
        raise Http404("no such note")
    return object_of(Document, _NOTE_COLUMNS, row)


def may_create_projects(user: User) -> bool:
    """Administrators, and whoever manages a project already."""
    return user.is_staff or user.memberships.filter(role=Role.MANAGER, active=True).exists()


def may_make_link(maker: User, user: User) -> bool:
    """Whether `maker` may make a link by which `user` chooses a new password. Asked again when the link is used."""
    return user.pk in may_make_links(maker, [user])


def may_make_links(maker: User, users: Collection[User]) -> set[int]:
    """The ids of those among `users` for whom `maker` may make a link by which they choose a new password.

    Whoever holds the link becomes that person. So a manager may make one only for an account that one of their own
    projects made, or that nobody has had a password for; and only while it opens, and opened, nothing else.
    """
    if not maker.is_active:
        return set()
    if maker.is_superuser:
        return {user.pk for user in users}
    managed = set(
        Membership.objects.filter(user=maker, role=Role.MANAGER, active=True).values_list("project_id", flat=True)
    )
    # Somebody who was removed elsewhere may be brought back there.
    elsewhere = set(
        Membership.objects.filter(user__in=users).exclude(project__in=managed).values_list("user_id", flat=True)
    )
    return {
        user.pk
        for user in users
        if not (user.is_superuser or user.is_staff)
        and user.pk not in elsewhere
        and (user.created_in_id in managed or (user.last_login is None and not user.has_usable_password()))
    }
