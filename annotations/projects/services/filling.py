"""Assignment of existing notes by the project's rule."""

from collections.abc import Collection

from django.db import transaction
from django.db.models import Count, Q
from django.utils.translation import gettext

from annotations.core.errors import ServiceError
from annotations.models import Assignment, AssignmentState, Document, Project, User
from annotations.projects.events import NOTES_ASSIGNED
from annotations.projects.services.assigning import BATCH, annotators_of, choose, loads_of


def fill_up(*, project: Project, actor: User | None, without: Collection[int] = ()) -> int:
    """Add the assignments that are missing by the project's rule. Return their number. No assignment is removed.

    An annotator who was released from a note doesn't get it again, and the users `without` get none. Repeating the call
    does no harm.
    """
    if project.distribution == Project.Distribution.LIST:
        raise ServiceError(
            gettext("In this project, notes are assigned by name only. Nothing was assigned."), code="list"
        )
    annotators = annotators_of(project)
    if not annotators:
        raise ServiceError(
            gettext("This project has no annotators yet. Add annotators first. Nothing was assigned."), code="nobody"
        )
    wanted = len(annotators)
    if project.distribution == Project.Distribution.SOME:
        wanted = min(wanted, project.annotators_per_note)
    free = [annotator for annotator in annotators if annotator.pk not in without]
    with transaction.atomic():
        # The lock keeps two calls at once from filling the same gaps.
        Project.objects.select_for_update().get(pk=project.pk)
        made = _fill(project, free, wanted)
        if made:
            NOTES_ASSIGNED.record(actor=actor, project_id=project.pk, data={"rule": True, "notes": made})
    return made


def _fill(project: Project, annotators: list[User], wanted: int) -> int:
    loads = loads_of(project, annotators)
    live = Count("assignments", filter=~Q(assignments__state=AssignmentState.RELEASED))
    lacking = Document.objects.filter(project=project).annotate(live=live).filter(live__lt=wanted).order_by("id")
    made, last = 0, 0
    while batch := list(lacking.filter(pk__gt=last).values_list("pk", "live")[:BATCH]):
        last = batch[-1][0]
        assigned = _ever_assigned([pk for pk, _ in batch])
        rows = []
        for pk, count in batch:
            free = [annotator for annotator in annotators if annotator.pk not in assigned.get(pk, ())]
            for annotator in choose(free, wanted - count, loads):
                rows.append(Assignment(project=project, document_id=pk, user=annotator))
        Assignment.objects.bulk_create(rows)
        made += len(rows)
    return made


def _ever_assigned(notes: list[int]) -> dict[int, set[int]]:
    """Ids of all users that each note was ever assigned to, by note id."""
    found: dict[int, set[int]] = {}
    for note, user in Assignment.objects.filter(document__in=notes).values_list("document", "user"):
        found.setdefault(note, set()).add(user)
    return found
