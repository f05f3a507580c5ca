"""Members of a project with their progress."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, DateTimeField, Exists, OuterRef, QuerySet, Subquery
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotations.core.access import Access, lacks_second_factor, may_make_links
from annotations.models import ApiToken, Assignment, AssignmentState, Event, Membership, Project, Role, User


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
    counts = {
        (user, state): count
        for user, state, count in Assignment.objects.filter(
            project__in={row.project_id for row in rows}, user__in=[row.user_id for row in rows]
        )
        .values_list("user", "state")
        .annotate(count=Count("id"))
        .order_by()
    }
    linkable = may_make_links(manager, [row.user for row in rows])
    return [
        MemberRow(
            row,
            counts.get((row.user_id, AssignmentState.OPEN), 0),
            counts.get((row.user_id, AssignmentState.DONE), 0),
            row.user_id in linkable,
        )
        for row in rows
    ]


# When members were last active in a project.


# Of each person, this many of the newest events in all projects are searched, so that nobody makes the page slow.
NEWEST_EVENTS = 300
IDLE_DAYS = 7


class _LastIn(Subquery):
    """The time of the newest of these events that belongs to the project with the number `project`."""

    template = '(SELECT MAX(recent."at") FROM (%(subquery)s) recent WHERE recent."project_id" = %(project)d)'


def activity(project: Project) -> list[Any]:
    """List the memberships with their last activity, the most recently active first, in one query.

    `last` is the time of the person's last event in the project; None if none of their newest events is in it.
    `searched_to` is the time of the oldest event that was searched; None if all were. `idle`: the person has open notes
    and has done nothing for IDLE_DAYS days.
    """
    events = Event.objects.filter(actor_id=OuterRef("user_id")).order_by("-id").values("project_id", "at")
    last = _LastIn(events[:NEWEST_EVENTS], project=project.pk, output_field=DateTimeField())
    oldest = Subquery(events.values("at")[NEWEST_EVENTS - 1 : NEWEST_EVENTS])
    open_notes = Assignment.objects.filter(project=project, user_id=OuterRef("user_id"), state=AssignmentState.OPEN)
    members = Membership.objects.filter(project=project, active=True).select_related("user")
    rows: list[Any] = list(members.annotate(last=last, searched_to=oldest, has_open_notes=Exists(open_notes)))
    since = timezone.now() - timedelta(days=IDLE_DAYS)
    for row in rows:
        times = (row.joined_at, row.last, row.searched_to)
        row.idle = row.has_open_notes and all(at is None or at < since for at in times)
    return sorted(rows, key=lambda row: (-(row.last.timestamp() if row.last else 0), row.user.username))


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
