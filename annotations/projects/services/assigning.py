"""Assignment of notes to annotators, when notes are imported and when people join."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import (
    AnnotationSet,
    AnnotationSetState,
    Assignment,
    AssignmentState,
    Document,
    Membership,
    Project,
    Role,
    User,
)
from annotations.projects.events import NOTES_ASSIGNED

BATCH = 2000


def annotators_of(project: Project) -> list[User]:
    """Active annotators of a project, in the order they joined."""
    members = Membership.objects.select_related("user").filter(project=project, role=Role.ANNOTATOR, active=True)
    return [member.user for member in members.order_by("id")]


@dataclass
class Load:
    """How many notes an annotator has to do, and how many more the project's quota allows (without one, infinite)."""

    open: int
    room: float

    def add(self) -> None:
        self.open += 1
        self.room -= 1


def loads_of(project: Project, annotators: Sequence[User]) -> dict[int, Load]:
    """Return the loads by user id. Open and done notes count for the quota, also those assigned by name."""
    counts = {
        user: (todo, live)
        for user, todo, live in Assignment.objects.filter(project=project, user__in=annotators)
        .exclude(state=AssignmentState.RELEASED)
        .values_list("user")
        .annotate(todo=Count("id", filter=Q(state=AssignmentState.OPEN)), live=Count("id"))
        .order_by()
    }
    most = math.inf if project.notes_per_annotator is None else project.notes_per_annotator
    return {
        annotator.pk: Load(todo, max(0, most - live))
        for annotator in annotators
        for todo, live in [counts.get(annotator.pk, (0, 0))]
    }


def assign_new_notes(*, project: Project, notes: Sequence[int]) -> int:
    """Assign new notes, given by their ids, by the project's rule. Return the number of assignments."""
    annotators = annotators_of(project)
    if not annotators or project.distribution == Project.Distribution.LIST:
        return 0
    if project.distribution == Project.Distribution.SOME:
        wanted = project.annotators_per_note
    else:
        wanted = len(annotators)
    loads = loads_of(project, annotators)
    return _create(project, [(note, each.pk) for note in notes for each in choose(annotators, wanted, loads)])


def choose(annotators: Iterable[User], wanted: int, loads: dict[int, Load]) -> list[User]:
    """Choose the `wanted` annotators with the fewest open notes, without those whose quota is full. Update `loads`."""
    free = [annotator for annotator in annotators if loads[annotator.pk].room >= 1]
    chosen = sorted(free, key=lambda annotator: loads[annotator.pk].open)[:wanted]
    for annotator in chosen:
        loads[annotator.pk].add()
    return chosen


def _create(project: Project, pairs: Iterable[tuple[int, int]]) -> int:
    """Assign notes to people, given by the ids of both. An assignment that exists is left as it is."""
    rows = [Assignment(project_id=project.pk, document_id=note, user_id=user) for note, user in pairs]
    for at in range(0, len(rows), BATCH):
        Assignment.objects.bulk_create(rows[at : at + BATCH], ignore_conflicts=True)
    return len(rows)


def assign_new_member(*, project: Project, user: User) -> int:
    """Assign notes to a new annotator by the project's rule. Returning annotators also get their earlier notes back.

    Returns the number of new assignments.
    """
    reopen(Assignment.objects.filter(project=project, user=user))
    restore_sets(project=project, user=user)
    if project.distribution == Project.Distribution.LIST:
        return 0
    notes = Document.objects.filter(project=project).exclude(assignments__user=user).order_by("id")
    if project.distribution == Project.Distribution.SOME:
        live = Count("assignments", filter=~Q(assignments__state=AssignmentState.RELEASED))
        notes = notes.annotate(live=live).filter(live__lt=project.annotators_per_note)
    room = loads_of(project, [user])[user.pk].room
    made = 0
    found = islice(notes.values_list("pk", flat=True).iterator(BATCH), None if room == math.inf else int(room))
    while batch := list(islice(found, BATCH)):
        made += _create(project, ((note, user.pk) for note in batch))
    return made


def reopen(assignments: QuerySet[Assignment]) -> int:
    """Reopen those of the assignments that were released, as if they were made now. Return their number."""
    released = assignments.filter(state=AssignmentState.RELEASED)
    return released.update(state=AssignmentState.OPEN, created_at=timezone.now())


def restore_sets(*, project: Project, user: User) -> int:
    """Restore the annotation sets that were withdrawn when the person left. Return the number of restored sets."""
    withdrawn = AnnotationSet.objects.filter(
        author__project=project, author__user=user, state=AnnotationSetState.WITHDRAWN
    )
    submitted = withdrawn.filter(submitted_at__isnull=False).update(state=AnnotationSetState.SUBMITTED)
    done = AnnotationSet.objects.filter(
        author__project=project, author__user=user, state=AnnotationSetState.SUBMITTED
    ).values("document")
    Assignment.objects.filter(project=project, user=user, document__in=done).update(state=AssignmentState.DONE)
    return submitted + withdrawn.filter(submitted_at__isnull=True).update(state=AnnotationSetState.DRAFT)


def assign_list(*, project: Project, user: User, names: Sequence[str], actor: User | None) -> int:
    """Assign notes to one person by name. Return the number of assignments made or requested again.

    Raises ServiceError, and assigns nothing, if a name is unknown.
    """
    if not Membership.objects.filter(project=project, user=user, active=True).exists():
        raise ServiceError(
            _("%(username)s is not a member of this project.") % {"username": user.username}, code="member"
        )
    notes = dict(Document.objects.filter(project=project, name__in=names).values_list("name", "pk"))
    if missing := [name for name in names if name not in notes]:
        raise ServiceError(
            _("These notes don't exist: %(choices)s. Nothing was assigned.") % {"choices": ", ".join(missing[:10])},
            code="note",
        )
    with transaction.atomic():
        made = _create(project, ((notes[name], user.pk) for name in names))
        reopened = reopen(Assignment.objects.filter(project=project, user=user, document__in=notes.values()))
        NOTES_ASSIGNED.record(
            actor=actor,
            project_id=project.pk,
            data={"user": user.username, "notes": made, "reopened": reopened},
        )
    return made
