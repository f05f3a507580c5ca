"""Members of a project with their progress."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from annotations.core.access import may_make_links
from annotations.models import Assignment, AssignmentState, Membership, Project, Role, User


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
