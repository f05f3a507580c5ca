"""Release of the notes of annotators who are idle. Their annotations are kept."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from annotations.models import Assignment, AssignmentState, Event, Project, User
from annotations.projects.events import NOTES_ASSIGNED, NOTES_RELEASED
from annotations.projects.services.assigning import annotators_of, reopen
from annotations.projects.services.filling import fill_up


def release_idle_notes() -> None:
    """Release the notes of idle annotators in all open projects with a number of idle days. Repeating it does no harm.

    The released notes go to other annotators by the project's rule. The relay calls this function.
    """
    for project in Project.objects.filter(idle_days__isnull=False, archived_at__isnull=True):
        _release(project)


def _release(project: Project) -> None:
    with transaction.atomic():
        # The lock keeps two relays from releasing at once, and an assignment by the rule from reading half a release.
        fresh = Project.objects.select_for_update().get(pk=project.pk)
        if fresh.idle_days is None or fresh.archived_at is not None:
            return
        before = timezone.now() - timedelta(days=fresh.idle_days)
        annotators = annotators_of(fresh)
        idle = [annotator for annotator in annotators if not _acted_since(fresh, annotator, before)]
        released = sum(_release_open(fresh, annotator, before) for annotator in idle)
        if released and fresh.distribution != Project.Distribution.LIST and len(idle) < len(annotators):
            fill_up(project=fresh, actor=None, without=[annotator.pk for annotator in idle])


def _acted_since(project: Project, user: User, before: datetime) -> bool:
    """Whether the audit log has an act of this person in this project since then; opening a note counts."""
    acts = Event.objects.filter(actor=user, project_id=project.pk).order_by("-id")
    last = acts.values_list("at", flat=True).first()
    return last is not None and last >= before


def _release_open(project: Project, user: User, before: datetime) -> int:
    """Release the notes that were open the whole time. Return their number."""
    assignments = Assignment.objects.filter(project=project, user=user, created_at__lt=before)
    released = assignments.filter(state=AssignmentState.OPEN).update(state=AssignmentState.RELEASED)
    if released:
        NOTES_RELEASED.record(
            actor=None,
            project_id=project.pk,
            data={"user": user.username, "notes": released, "days": project.idle_days or 0},
        )
    return released


def released_notes(project: Project, user: User) -> int:
    """Return how many notes of this annotator were released."""
    return Assignment.objects.filter(project=project, user=user, state=AssignmentState.RELEASED).count()


def take_back(*, project: Project, user: User) -> int:
    """Assign the released notes to the annotator again, except those that went to others. Return their number."""
    live = ~Q(document__assignments__state=AssignmentState.RELEASED)
    with transaction.atomic():
        fresh = Project.objects.select_for_update().get(pk=project.pk)
        wanted = {
            Project.Distribution.EVERYONE: len(annotators_of(fresh)),
            Project.Distribution.SOME: fresh.annotators_per_note,
            Project.Distribution.LIST: 1,
        }[Project.Distribution(fresh.distribution)]
        mine = Assignment.objects.filter(project=fresh, user=user, state=AssignmentState.RELEASED)
        free = mine.annotate(live=Count("document__assignments", filter=live)).filter(live__lt=wanted)
        taken = reopen(Assignment.objects.filter(pk__in=list(free.values_list("pk", flat=True))))
        if taken:
            NOTES_ASSIGNED.record(actor=user, project_id=fresh.pk, data={"user": user.username, "reopened": taken})
    return taken
