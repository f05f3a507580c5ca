"""Assignment of notes to annotators, when notes are imported and when people join."""

from collections.abc import Iterable, Sequence

from django.db import transaction
from django.db.models import Count, Q
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import AnnotationSet, Assignment, Document, Membership, Project, Role, User
from annotations.projects.events import NOTES_ASSIGNED

BATCH = 2000


def annotators_of(project: Project) -> list[User]:
    """Active annotators of a project, in the order they joined."""
    members = Membership.objects.select_related("user").filter(project=project, role=Role.ANNOTATOR, active=True)
    return [member.user for member in members.order_by("id")]


def assign_new_notes(*, project: Project, documents: Sequence[Document]) -> int:
    """Assign new notes by the project's rule. Return the number of assignments."""
    annotators = annotators_of(project)
    if not annotators or project.distribution == Project.Distribution.LIST:
        return 0
    if project.distribution == Project.Distribution.SOME:
        pairs = _least_loaded(project, documents, annotators, project.annotators_per_note)
    else:
        pairs = [(document, annotator) for document in documents for annotator in annotators]
    return _create(project, pairs)


def _least_loaded(
    project: Project, documents: Sequence[Document], annotators: Sequence[User], wanted: int
) -> list[tuple[Document, User]]:
    """Assign each note to the `wanted` annotators with the fewest open notes at that point."""
    counts = dict(
        Assignment.objects.filter(project=project, state=Assignment.State.OPEN)
        .values_list("user")
        .annotate(open=Count("id"))
    )
    load = {annotator.pk: counts.get(annotator.pk, 0) for annotator in annotators}
    order = {annotator.pk: position for position, annotator in enumerate(annotators)}
    pairs = []
    for document in documents:
        chosen = sorted(annotators, key=lambda annotator: (load[annotator.pk], order[annotator.pk]))[:wanted]
        for annotator in chosen:
            load[annotator.pk] += 1
            pairs.append((document, annotator))
    return pairs


def _create(project: Project, pairs: Iterable[tuple[Document, User]]) -> int:
    rows = [Assignment(project=project, document=document, user=user) for document, user in pairs]
    for at in range(0, len(rows), BATCH):
        Assignment.objects.bulk_create(rows[at : at + BATCH], ignore_conflicts=True)
    return len(rows)


def assign_new_member(*, project: Project, user: User) -> int:
    """Assign notes to a new annotator by the project's rule. Returning annotators also get their earlier notes back.

    Returns the number of new assignments.
    """
    Assignment.objects.filter(project=project, user=user, state=Assignment.State.RELEASED).update(
        state=Assignment.State.OPEN
    )
    restore_sets(project=project, user=user)
    if project.distribution == Project.Distribution.LIST:
        return 0
    notes = Document.objects.filter(project=project).exclude(assignments__user=user).only("id").order_by("id")
    if project.distribution == Project.Distribution.SOME:
        live = Count("assignments", filter=~Q(assignments__state=Assignment.State.RELEASED))
        notes = notes.annotate(live=live).filter(live__lt=project.annotators_per_note)
    made = 0
    batch: list[Document] = []
    for note in notes.iterator(chunk_size=BATCH):
        batch.append(note)
        if len(batch) == BATCH:
            made += _create(project, ((note, user) for note in batch))
            batch = []
    return made + _create(project, ((note, user) for note in batch))


def restore_sets(*, project: Project, user: User) -> int:
    """Restore the annotation sets that were withdrawn when the person left. Return the number of restored sets."""
    withdrawn = AnnotationSet.objects.filter(
        author__project=project, author__user=user, state=AnnotationSet.State.WITHDRAWN
    )
    submitted = withdrawn.filter(submitted_at__isnull=False).update(state=AnnotationSet.State.SUBMITTED)
    done = AnnotationSet.objects.filter(
        author__project=project, author__user=user, state=AnnotationSet.State.SUBMITTED
    ).values("document")
    Assignment.objects.filter(project=project, user=user, document__in=done).update(state=Assignment.State.DONE)
    return submitted + withdrawn.filter(submitted_at__isnull=True).update(state=AnnotationSet.State.DRAFT)


def assign_list(*, project: Project, user: User, names: Sequence[str], actor: User | None) -> int:
    """Assign notes to one person by name. Return the number of assignments made or requested again.

    Raises ServiceError, and assigns nothing, if a name is unknown.
    """
    if not Membership.objects.filter(project=project, user=user, active=True).exists():
        raise ServiceError(
            _("%(username)s is not a member of this project.") % {"username": user.username}, code="member"
        )
    notes = {note.name: note for note in Document.objects.filter(project=project, name__in=names).only("id", "name")}
    if missing := [name for name in names if name not in notes]:
        raise ServiceError(
            _("These notes don't exist: %(choices)s. Nothing was assigned.") % {"choices": ", ".join(missing[:10])},
            code="note",
        )
    with transaction.atomic():
        made = _create(project, ((notes[name], user) for name in names))
        reopened = Assignment.objects.filter(
            project=project, user=user, document__in=notes.values(), state=Assignment.State.RELEASED
        ).update(state=Assignment.State.OPEN)
        NOTES_ASSIGNED.record(
            actor=actor,
            project_id=project.pk,
            data={"user": user.username, "notes": made, "reopened": reopened},
        )
    return made
