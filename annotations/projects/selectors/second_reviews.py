"""Notes that wait for a second reviewer."""

from annotations.models import Handover, Project

ACTIVE = [str(state) for state in Handover.ACTIVE]


def waiting_in(project: Project) -> int:
    """Number of notes in the project that wait for a second reviewer."""
    return Handover.objects.filter(review__document__project=project, state__in=ACTIVE).count()
