"""Members of a project with their progress."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotations.core.access import Access, lacks_second_factor, may_make_links
from annotations.models import ApiToken, Assignment, AssignmentState, Event, Membership, Project, Role, User
from annotations.projects.selectors.projects import assigned


@dataclass(frozen=True)
class MemberRow:
    """A member with the numbers of open and done notes. Former members keep their done notes.

    `linkable` is whether the current manager may create a password link for this person.
    """

    row: Membership
    open: int
    done: int
    linkable: bool

    @property
    def annotates(self) -> bool:
        """Whether to show the counts: for annotators and everyone with assigned notes."""
        return self.row.role == Role.ANNOTATOR or bool(self.open or self.done)


def memberships(project: Project, *, active: bool) -> QuerySet[Membership]:
    """Current or former members of a project, in the order they joined."""
    return Membership.objects.filter(project=project, active=active).select_related("user").order_by("id")


def member_for(access: Access, pk: int) -> Membership:
    return get_object_or_404(Membership.objects.select_related("user"), project=access.project, pk=pk)


def members(rows: Sequence[Membership], manager: User) -> list[MemberRow]:
    """Members of these rows with their counts, for the manager who looks at them."""
    counted = Membership.objects.filter(pk__in=[row.pk for row in rows]).values_list(
        "pk", assigned(AssignmentState.OPEN), assigned(AssignmentState.DONE)
    )
    counts = {pk: (left, done) for pk, left, done in counted}
    linkable = may_make_links(manager, [row.user for row in rows])
    return [MemberRow(row, *counts[row.pk], row.user_id in linkable) for row in rows]


# When members were last active in a project.


IDLE_DAYS = 7


def activity(access: Access) -> list[Any]:
    """List the memberships with their last activity, the most recently active first, in one query.

    `last` is the time of the person's last event in the project. `idle`: the person has open notes and has done nothing
    for IDLE_DAYS days.
    """
    project = access.project
    events = Event.objects.filter(actor_id=OuterRef("user_id"), project_id=project.pk).order_by("-at").values("at")
    notes = Assignment.objects.filter(project=project, user_id=OuterRef("user_id"), state=AssignmentState.OPEN)
    # With an order, PostgreSQL walks an index to the first note, instead of searching all assignments.
    first = notes.order_by("document_id").values("document_id")
    members = Membership.objects.filter(project=project, active=True).select_related("user")
    rows: list[Any] = list(members.annotate(last=Subquery(events[:1]), open_note=Subquery(first[:1])))
    since = timezone.now() - timedelta(days=IDLE_DAYS)
    for row in rows:
        row.idle = row.open_note is not None and (row.last or row.joined_at) < since
    rows.sort(key=lambda row: (-(row.last.timestamp() if row.last else 0), row.user.username))
    return rows


# A person's tokens, for the page and the command.


TOKEN_STATES = {"valid": _("Valid"), "expired": _("Expired"), "revoked": _("Revoked")}


def tokens_of(user: User) -> "QuerySet[ApiToken]":
    return ApiToken.objects.filter(user=user).select_related("project").order_by("-pk")


def state_of(row: ApiToken) -> str:
    """Return the state of a token, a key of TOKEN_STATES."""
    if row.revoked_at is not None:
        return "revoked"
    return "valid" if row.expires_at > timezone.now() else "expired"


def projects_of(user: User) -> "QuerySet[Project]":
    """The projects of a person, without those that are closed until the person has a second factor."""
    found = Project.objects.filter(memberships__user=user, memberships__active=True).order_by("name", "pk")
    if lacks_second_factor(user):
        return found.none()
    return found.exclude(second_factor=True) if lacks_second_factor(user, wanted=True) else found
