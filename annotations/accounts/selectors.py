"""The people of a project, with how far each is."""

from dataclasses import dataclass

from django.db.models import Count

from annotations.models import Assignment, Membership, Project, Role


@dataclass(frozen=True)
class Member:
    """A member with the notes still open and those done; who left shows how many submitted notes stay."""

    row: Membership
    open: int
    done: int

    @property
    def reads(self) -> bool:
        """Whether the counts mean anything: annotators, and whoever was given notes."""
        return self.row.role == Role.ANNOTATOR or bool(self.open or self.done)


def members(project: Project) -> tuple[list[Member], list[Member]]:
    """Active members and removed ones, in the order they joined. One query for the people, one for the counts."""
    counts = {
        (user, state): count
        for user, state, count in Assignment.objects.filter(project=project)
        .values_list("user", "state")
        .annotate(count=Count("id"))
        .order_by()
    }
    found = [
        Member(
            row,
            counts.get((row.user_id, Assignment.State.OPEN), 0),
            counts.get((row.user_id, Assignment.State.DONE), 0),
        )
        for row in Membership.objects.filter(project=project).select_related("user").order_by("id")
    ]
    return [member for member in found if member.row.active], [member for member in found if not member.row.active]
