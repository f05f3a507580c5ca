"""The people of a project, with how far each is."""

from dataclasses import dataclass

from django.db.models import Count

from annotations.core.access import may_make_links
from annotations.models import Assignment, Membership, Project, Role, User


@dataclass(frozen=True)
class Member:
    """A member with the notes still open and those done; who left shows how many submitted notes stay.

    `linkable`: whether the manager who looks may make a password link for this person.
    """

    row: Membership
    open: int
    done: int
    linkable: bool

    @property
    def reads(self) -> bool:
        """Whether the counts mean anything: annotators, and whoever was given notes."""
        return self.row.role == Role.ANNOTATOR or bool(self.open or self.done)


def members(project: Project, manager: User) -> tuple[list[Member], list[Member]]:
    """Active members and removed ones, in the order they joined, as `manager` sees them."""
    counts = {
        (user, state): count
        for user, state, count in Assignment.objects.filter(project=project)
        .values_list("user", "state")
        .annotate(count=Count("id"))
        .order_by()
    }
    rows = list(Membership.objects.filter(project=project).select_related("user").order_by("id"))
    linkable = may_make_links(manager, [row.user for row in rows])
    found = [
        Member(
            row,
            counts.get((row.user_id, Assignment.State.OPEN), 0),
            counts.get((row.user_id, Assignment.State.DONE), 0),
            row.user_id in linkable,
        )
        for row in rows
    ]
    return [member for member in found if member.row.active], [member for member in found if not member.row.active]
