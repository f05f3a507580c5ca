"""When members were last active in a project."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import DateTimeField, Exists, OuterRef, Subquery
from django.utils import timezone

from annotations.models import Assignment, AssignmentState, Event, Membership, Project

# Of each person, this many of the newest events in all projects are searched, so that nobody makes the page slow.
NEWEST_EVENTS = 300
IDLE_DAYS = 7


class _LastIn(Subquery):
    """The time of the newest of these events that belongs to the project with the number `project`."""

    template = '(SELECT MAX(recent."at") FROM (%(subquery)s) recent WHERE recent."project_id" = %(project)d)'


@dataclass(frozen=True)
class Activity:
    """A member with the time of their last event in the project; None if none of their newest events is in it.

    `searched_to` is the time of the oldest event that was searched; None if all were.
    """

    user: int
    name: str
    role: str
    role_name: str
    joined: datetime
    last: datetime | None
    searched_to: datetime | None
    has_open_notes: bool

    @property
    def idle(self) -> bool:
        """Whether the person has open notes and has done nothing for IDLE_DAYS days."""
        since = timezone.now() - timedelta(days=IDLE_DAYS)
        known = self.searched_to is None or self.searched_to < since
        return self.has_open_notes and known and self.joined < since and (self.last is None or self.last < since)


def activity(project: Project) -> list[Activity]:
    """List the members with their last activity, the most recently active first, in one query."""
    events = Event.objects.filter(actor_id=OuterRef("user_id")).order_by("-id").values("project_id", "at")
    last = _LastIn(events[:NEWEST_EVENTS], project=project.pk, output_field=DateTimeField())
    oldest = Subquery(events.values("at")[NEWEST_EVENTS - 1 : NEWEST_EVENTS])
    open_notes = Assignment.objects.filter(project=project, user_id=OuterRef("user_id"), state=AssignmentState.OPEN)
    rows = Membership.objects.filter(project=project, active=True).select_related("user")
    found = [
        Activity(
            user=row.user_id,
            name=row.user.get_username(),
            role=row.role,
            role_name=row.get_role_display(),
            joined=row.joined_at,
            last=row.last,
            searched_to=row.searched_to,
            has_open_notes=row.has_open_notes,
        )
        for row in rows.annotate(last=last, searched_to=oldest, has_open_notes=Exists(open_notes))
    ]
    return sorted(found, key=lambda one: (-(one.last.timestamp() if one.last else 0), one.name))
