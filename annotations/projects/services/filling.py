"""Giving notes that are there already the readers that the project's rule asks for."""

from django.db import transaction
from django.db.models import Count, Q
from django.utils.translation import gettext

from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.models import Assignment, Document, Project, User, Verb
from annotations.projects.services.assigning import BATCH, annotators


def fill_up(*, project: Project, actor: User | None) -> int:
    """Hand out what the rule asks for and nobody has; returns the assignments made. Nothing is taken from anybody.

    A reader who had a note and was released from it doesn't get it again. Harmless to repeat.
    """
    if project.distribution == Project.Distribution.LIST:
        raise ServiceError(
            gettext("in this project notes are handed out by name only; nothing was handed out"), code="list"
        )
    readers = annotators(project)
    if not readers:
        raise ServiceError(gettext("there is no annotator yet; nothing was handed out"), code="nobody")
    wanted = len(readers)
    if project.distribution == Project.Distribution.SOME:
        wanted = min(wanted, project.readers_per_note)
    with transaction.atomic():
        # Two at once would each see the same gaps; the second waits and finds them filled.
        Project.objects.select_for_update().get(pk=project.pk)
        made = _fill(project, readers, wanted)
        if made:
            record(verb=Verb.NOTES_ASSIGNED, actor=actor, project_id=project.pk, data={"rule": True, "notes": made})
    return made


def _fill(project: Project, readers: list[User], wanted: int) -> int:
    load = _open_notes(project, readers)
    live = Count("assignments", filter=~Q(assignments__state=Assignment.State.RELEASED))
    lacking = Document.objects.filter(project=project).annotate(live=live).filter(live__lt=wanted).order_by("id")
    made, last = 0, 0
    while batch := list(lacking.filter(pk__gt=last).values_list("pk", "live")[:BATCH]):
        last = batch[-1][0]
        taken = _readers_of([pk for pk, _ in batch])
        rows = []
        for pk, count in batch:
            free = [reader for reader in readers if reader.pk not in taken.get(pk, ())]
            for reader in sorted(free, key=lambda person: load[person.pk])[: wanted - count]:
                load[reader.pk] += 1
                rows.append(Assignment(project=project, document_id=pk, user=reader))
        Assignment.objects.bulk_create(rows)
        made += len(rows)
    return made


def _open_notes(project: Project, readers: list[User]) -> dict[int, int]:
    counts = dict(
        Assignment.objects.filter(project=project, state=Assignment.State.OPEN)
        .values_list("user")
        .annotate(open=Count("id"))
        .order_by()
    )
    return {reader.pk: counts.get(reader.pk, 0) for reader in readers}


def _readers_of(notes: list[int]) -> dict[int, set[int]]:
    """Who was ever given which of these notes."""
    found: dict[int, set[int]] = {}
    for note, user in Assignment.objects.filter(document__in=notes).values_list("document", "user"):
        found.setdefault(note, set()).add(user)
    return found
