"""Assignment of notes to annotators, when notes are imported and when people join."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from random import SystemRandom

from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.bulk import batched
from annotations.core.services import ServiceError
from annotations.projects.events import NOTES_ASSIGNED, NOTES_RELEASED, NotesReleased
from annotations.projects.services.projects import update_project

BATCH = 2000


def annotators_of(project: models.Project) -> list[models.User]:
    """Active annotators of a project, in the order they joined: its managers, where managers annotate alone."""
    alone = project.distribution == models.Project.Distribution.MANAGERS
    role = models.Role.MANAGER if alone else models.Role.ANNOTATOR
    members = models.Membership.objects.select_related("user").filter(project=project, role=role, active=True)
    return [member.user for member in members.order_by("id")]


@dataclass
class Load:
    """How many notes an annotator has to do, and how many more the project's quota allows (without one, infinite)."""

    open: int
    room: float

    def add(self) -> None:
        self.open += 1
        self.room -= 1


def loads_of(project: models.Project, annotators: Sequence[models.User]) -> dict[int, Load]:
    """Return the loads by user id. Open and done notes count for the quota, also those assigned by name."""
    counts = {
        user: (todo, live)
        for user, todo, live in models.Assignment.objects.filter(project=project, user__in=annotators)
        .exclude(state=models.AssignmentState.RELEASED)
        .values_list("user")
        .annotate(todo=Count("id", filter=Q(state=models.AssignmentState.OPEN)), live=Count("id"))
        .order_by()
    }
    most = math.inf if project.notes_per_annotator is None else project.notes_per_annotator
    return {
        annotator.pk: Load(todo, max(0, most - live))
        for annotator in annotators
        for todo, live in [counts.get(annotator.pk, (0, 0))]
    }


def assign_new_notes(*, project: models.Project, notes: Sequence[int]) -> int:
    """Assign new notes, given by their ids, by the project's rule. Return the number of assignments."""
    annotators = annotators_of(project)
    if not annotators or project.distribution == models.Project.Distribution.LIST:
        return 0
    wanted = _wanted(project, annotators)
    loads = loads_of(project, annotators)
    return _create(project, [(note, each.pk) for note in notes for each in choose(annotators, wanted, loads)])


def _wanted(project: models.Project, annotators: Sequence[models.User]) -> int:
    """How many annotators each note gets by the project's rule."""
    rules = models.Project.Distribution
    wanted = {rules.SOME: project.annotators_per_note, rules.LIST: 1, rules.MANAGERS: 1}
    return wanted.get(rules(project.distribution), len(annotators))


def choose(annotators: Iterable[models.User], wanted: int, loads: dict[int, Load]) -> list[models.User]:
    """Choose the `wanted` annotators with the fewest open notes, without those whose quota is full. Update `loads`."""
    free = [annotator for annotator in annotators if loads[annotator.pk].room >= 1]
    chosen = sorted(free, key=lambda annotator: loads[annotator.pk].open)[:wanted]
    for annotator in chosen:
        loads[annotator.pk].add()
    return chosen


def _create(project: models.Project, pairs: Iterable[tuple[int, int]]) -> int:
    """Assign notes to people, given by the ids of both. An assignment that exists is left as it is."""
    rows = [models.Assignment(project_id=project.pk, document_id=note, user_id=user) for note, user in pairs]
    for batch in batched(rows, BATCH):
        models.Assignment.objects.bulk_create(batch, ignore_conflicts=True)
    return len(rows)


def assign_new_member(*, project: models.Project, user: models.User) -> int:
    """Assign notes to a new annotator by the project's rule. Returning annotators also get their earlier notes back.

    Returns the number of new assignments.
    """
    reopen(models.Assignment.objects.filter(project=project, user=user))
    restore_sets(project=project, user=user)
    if project.distribution in (models.Project.Distribution.LIST, models.Project.Distribution.MANAGERS):
        return 0
    notes = models.Document.objects.filter(project=project).exclude(assignments__user=user).order_by("id")
    if project.distribution == models.Project.Distribution.SOME:
        live = Count("assignments", filter=~Q(assignments__state=models.AssignmentState.RELEASED))
        notes = notes.annotate(live=live).filter(live__lt=project.annotators_per_note)
    room = loads_of(project, [user])[user.pk].room
    made = 0
    found = islice(notes.values_list("pk", flat=True).iterator(BATCH), None if room == math.inf else int(room))
    for batch in batched(found, BATCH):
        made += _create(project, ((note, user.pk) for note in batch))
    return made


def reopen(assignments: QuerySet[models.Assignment]) -> int:
    """Reopen those of the assignments that were released, as if they were made now. Return their number."""
    released = assignments.filter(state=models.AssignmentState.RELEASED)
    return released.update(state=models.AssignmentState.OPEN, created_at=timezone.now())


def restore_sets(*, project: models.Project, user: models.User) -> int:
    """Restore the annotation sets that were withdrawn when the person left. Return the number of restored sets."""
    withdrawn = models.AnnotationSet.objects.filter(
        author__project=project, author__user=user, state=models.AnnotationSetState.WITHDRAWN
    )
    submitted = withdrawn.filter(submitted_at__isnull=False).update(state=models.AnnotationSetState.SUBMITTED)
    done = models.AnnotationSet.objects.filter(
        author__project=project, author__user=user, state=models.AnnotationSetState.SUBMITTED
    ).values("document")
    models.Assignment.objects.filter(project=project, user=user, document__in=done).update(
        state=models.AssignmentState.DONE
    )
    return submitted + withdrawn.filter(submitted_at__isnull=True).update(state=models.AnnotationSetState.DRAFT)


def assign_list(*, project: models.Project, user: models.User, names: Sequence[str], actor: models.User | None) -> int:
    """Assign notes to one person by name. Return the number of assignments made or requested again.

    Raises ServiceError, and assigns nothing, if a name is unknown.
    """
    if not models.Membership.objects.filter(project=project, user=user, active=True).exists():
        message = _("%(username)s is not a member of this project.")
        raise ServiceError(message % {"username": user.username}, code="member")
    notes = dict(models.Document.objects.filter(project=project, name__in=names).values_list("name", "pk"))
    if missing := [name for name in names if name not in notes]:
        message = _("These notes don't exist: %(choices)s. Nothing was assigned.")
        raise ServiceError(message % {"choices": ", ".join(missing[:10])}, code="note")
    with transaction.atomic():
        made = _create(project, ((notes[name], user.pk) for name in names))
        reopened = reopen(models.Assignment.objects.filter(project=project, user=user, document__in=notes.values()))
        NOTES_ASSIGNED.record(
            actor=actor, project_id=project.pk, data={"user": user.username, "notes": made, "reopened": reopened}
        )
    return made


# The pilot, and the assignment of existing notes by the project's rule.

PILOT = 10


def start_pilot(*, project: models.Project, actor: models.User | None) -> int:
    """Assign the same PILOT notes, drawn at random, to all annotators. Return the number of notes.

    A second call changes nothing, and returns 0.
    """
    annotators = annotators_of(project)
    if len(annotators) < 2:
        message = _("A pilot needs two annotators, since it compares them. Add people first. Nothing was assigned.")
        raise ServiceError(message, code="nobody")
    with transaction.atomic():
        models.Project.objects.select_for_update().get(pk=project.pk)
        if models.Assignment.objects.filter(project=project).exists():
            return 0
        all_notes = list(models.Document.objects.filter(project=project).values_list("pk", flat=True))
        if not all_notes:
            raise ServiceError(_("There are no notes yet. Import notes first. Nothing was assigned."), code="notes")
        notes = sorted(SystemRandom().sample(all_notes, min(PILOT, len(all_notes))))
        made = _create(project, ((note, each.pk) for note in notes for each in annotators))
        NOTES_ASSIGNED.record(actor=actor, project_id=project.pk, data={"rule": True, "notes": made})
    return len(notes)


def assign_all(*, project: models.Project, actor: models.User | None, distribution: str) -> int:
    """Assign all notes, and those that follow, by a rule from now on. Return the number of assignments."""
    with transaction.atomic():
        update_project(project=project, actor=actor, distribution=distribution)
        return fill_up(project=project, actor=actor)


def fill_up(*, project: models.Project, actor: models.User | None, without: Collection[int] = ()) -> int:
    """Add the assignments that are missing by the project's rule. Return their number. No assignment is removed.

    An annotator who was released from a note doesn't get it again, and the users `without` get none. Repeating the call
    does no harm.
    """
    if project.distribution == models.Project.Distribution.LIST:
        message = _("In this project, notes are assigned by name only. Nothing was assigned.")
        raise ServiceError(message, code="list")
    annotators = annotators_of(project)
    if not annotators:
        message = _("This project has no annotators yet. Add annotators first. Nothing was assigned.")
        raise ServiceError(message, code="nobody")
    wanted = min(len(annotators), _wanted(project, annotators))
    free = [annotator for annotator in annotators if annotator.pk not in without]
    with transaction.atomic():
        # The lock keeps two calls at once from filling the same gaps.
        models.Project.objects.select_for_update().get(pk=project.pk)
        made = _fill(project, free, wanted)
        if made:
            NOTES_ASSIGNED.record(actor=actor, project_id=project.pk, data={"rule": True, "notes": made})
    return made


def _fill(project: models.Project, annotators: list[models.User], wanted: int) -> int:
    loads = loads_of(project, annotators)
    live = Count("assignments", filter=~Q(assignments__state=models.AssignmentState.RELEASED))
    lacking = models.Document.objects.filter(project=project).annotate(live=live).filter(live__lt=wanted).order_by("id")
    made, last = 0, 0
    while batch := list(lacking.filter(pk__gt=last).values_list("pk", "live")[:BATCH]):
        last = batch[-1][0]
        assigned = _ever_assigned([pk for pk, _ in batch])
        rows = []
        for pk, count in batch:
            free = [annotator for annotator in annotators if annotator.pk not in assigned.get(pk, ())]
            for annotator in choose(free, wanted - count, loads):
                rows.append(models.Assignment(project=project, document_id=pk, user=annotator))
        models.Assignment.objects.bulk_create(rows)
        made += len(rows)
    return made


def _ever_assigned(notes: list[int]) -> dict[int, set[int]]:
    """Ids of all users that each note was ever assigned to, by note id."""
    found: dict[int, set[int]] = {}
    for note, user in models.Assignment.objects.filter(document__in=notes).values_list("document", "user"):
        found.setdefault(note, set()).add(user)
    return found


# Release of the notes of annotators who are idle. Their annotations are kept.


def release_idle_notes() -> None:
    """Release the notes of idle annotators in all open projects with a number of idle days. Repeating it does no harm.

    The released notes go to other annotators by the project's rule. The relay calls this function.
    """
    for project in models.Project.objects.filter(idle_days__isnull=False, archived_at__isnull=True):
        _release(project)


def _release(project: models.Project) -> None:
    with transaction.atomic():
        # The lock keeps two relays from releasing at once, and an assignment by the rule from reading half a release.
        fresh = models.Project.objects.select_for_update().get(pk=project.pk)
        if fresh.idle_days is None or fresh.archived_at is not None:
            return
        before = timezone.now() - timedelta(days=fresh.idle_days)
        annotators = annotators_of(fresh)
        idle = [annotator for annotator in annotators if not _acted_since(fresh, annotator, before)]
        released = sum(_release_open(fresh, annotator, before) for annotator in idle)
        if released and fresh.distribution != models.Project.Distribution.LIST and len(idle) < len(annotators):
            fill_up(project=fresh, actor=None, without=[annotator.pk for annotator in idle])


def _acted_since(project: models.Project, user: models.User, before: datetime) -> bool:
    """Whether the audit log has an act of this person in this project since then; opening a note counts."""
    acts = models.Event.objects.filter(actor=user, project_id=project.pk).order_by("-at")
    last = acts.values_list("at", flat=True).first()
    return last is not None and last >= before


def _release_open(project: models.Project, user: models.User, before: datetime) -> int:
    """Release the notes that were open the whole time. Return their number."""
    assignments = models.Assignment.objects.filter(project=project, user=user, created_at__lt=before)
    released = assignments.filter(state=models.AssignmentState.OPEN).update(state=models.AssignmentState.RELEASED)
    if released:
        data: NotesReleased = {"user": user.username, "notes": released, "days": project.idle_days or 0}
        NOTES_RELEASED.record(actor=None, project_id=project.pk, data=data)
    return released


def released_notes(project: models.Project, user: models.User) -> int:
    """Return how many notes of this annotator were released."""
    return models.Assignment.objects.filter(project=project, user=user, state=models.AssignmentState.RELEASED).count()


def take_back(*, project: models.Project, user: models.User) -> int:
    """Assign the released notes to the annotator again, except those that went to others. Return their number."""
    live = ~Q(document__assignments__state=models.AssignmentState.RELEASED)
    with transaction.atomic():
        fresh = models.Project.objects.select_for_update().get(pk=project.pk)
        wanted = _wanted(fresh, annotators_of(fresh))
        mine = models.Assignment.objects.filter(project=fresh, user=user, state=models.AssignmentState.RELEASED)
        free = mine.annotate(live=Count("document__assignments", filter=live)).filter(live__lt=wanted)
        taken = reopen(models.Assignment.objects.filter(pk__in=list(free.values_list("pk", flat=True))))
        if taken:
            NOTES_ASSIGNED.record(actor=user, project_id=fresh.pk, data={"user": user.username, "reopened": taken})
    return taken
