"""Start, submit and reopen an annotation set; its assignment changes in the same transaction."""

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations import models
from annotations.annotate.events import SET_REOPENED, SET_SUBMITTED, SetMoved
from annotations.core.access import Access
from annotations.core.authors import author_of
from annotations.core.bulk import SpanRow, insert_spans
from annotations.core.services import SET_SEEDED, Verb, hold, keep_labels
from annotations.core.spans import ChangeRefused, as_json, check_room, own_set, own_sets, spans_of
from annotations.notes.selectors.comments import has_seen_outcome

# Whether an annotator may have seen others' spans of a note before submitting their own.


def may_have_seen_others(document: models.Document, user: models.User) -> bool:
    """Whether this person has opened the note's outcome, or once had a role that may read every note.

    Not every page that shows others' spans records which notes were on it. A former viewer, reviewer or manager
    therefore counts as having seen every note that the project had until they left that role: too few annotation sets
    count as blind rather than too many.
    """
    return has_seen_outcome(document.pk, user) or _was_open_to(document, user)


def _was_open_to(document: models.Document, user: models.User) -> bool:
    members = models.Membership.objects.filter(project_id=document.project_id, user=user)
    until = members.values_list("read_others_until", flat=True).first()
    return until is not None and models.Document.objects.filter(pk=document.pk, created_at__lte=until).exists()


State = models.AnnotationSetState


@dataclass(frozen=True, slots=True)
class SetStatus:
    """Version and state of an annotation set."""

    version: int
    state: str


def hand_in(*, access: Access, note: models.Document, version: int | None = None) -> SetStatus:
    """Submit this person's annotation set as `submit` does. A set that this call starts is not submitted unseen."""
    if start_annotations(access=access, note=note):
        message = _("Your annotations begin from the spans of a run. Check them, then submit.")
        raise _conflict(own_sets(note.pk, access.user).get(), "unseen", message)
    return submit(document=note, user=access.user, version=version, blind=access.annotates_blind)


@transaction.atomic
def submit(
    *, document: models.Document, user: models.User, version: int | None = None, blind: bool = True
) -> SetStatus:
    """Submit `user`'s annotation set of `document`. A set without spans says that the annotator found nothing.

    `version`, where given, must be the version that the page shows, so that nobody submits changes of another tab
    unseen. A submitted set stays as it is. Raises ChangeRefused (409) with the current state and spans.
    """
    rows = own_sets(document.pk, user).select_for_update(of=("self",))
    row = rows.first()
    if row is None:
        author = author_of(document.project, user)
        models.AnnotationSet.objects.get_or_create(document=document, author=author, defaults={"blind": blind})
        row = rows.get()
    if row.state == State.SUBMITTED:
        return SetStatus(row.version, row.state)
    if row.state == State.WITHDRAWN:
        raise withdrawn()
    if version is not None and version != row.version:
        raise _conflict(row, "stale", _("This note was changed in another tab. Check it, then submit."))
    row.submitted_at = timezone.now()
    row.blind = row.blind and blind and not may_have_seen_others(document, user)
    return _move(document, user, row, models.AssignmentState.OPEN, SET_SUBMITTED)


@transaction.atomic
def reopen(*, document: models.Document, user: models.User) -> SetStatus:
    """Make a submitted set a draft again and its assignment open; a draft stays as it is.

    Raises ChangeRefused (409).
    """
    row = own_sets(document.pk, user).select_for_update(of=("self",)).first()
    if row is None or row.state == State.DRAFT:
        return SetStatus(row.version if row else 0, State.DRAFT)
    if row.state == State.WITHDRAWN:
        raise withdrawn()
    row.submitted_at = None
    return _move(document, user, row, models.AssignmentState.DONE, SET_REOPENED)


def withdrawn() -> ChangeRefused:
    """The conflict for a change of annotations that were withdrawn when the person left the project."""
    message = _("These annotations were withdrawn when you left the project. Ask a manager to add you again.")
    return ChangeRefused("withdrawn", message, status=409)


def _move(
    document: models.Document, user: models.User, row: models.AnnotationSet, before: str, verb: Verb[SetMoved]
) -> SetStatus:
    """Change the set and its assignment together, and record the event. `before` is the assignment's state so far."""
    row.version += 1
    row.state = State.SUBMITTED if row.submitted_at else State.DRAFT
    row.save(update_fields=["version", "state", "submitted_at", "blind", "updated_at"])
    after = models.AssignmentState.DONE if row.submitted_at else models.AssignmentState.OPEN
    models.Assignment.objects.filter(document_id=document.pk, user_id=user.pk, state=before).update(state=after)
    verb.record(actor=user, note=document, annotation_set_id=row.pk, data={"version": row.version})
    return SetStatus(row.version, row.state)


def _conflict(row: models.AnnotationSet, code: str, message: str) -> ChangeRefused:
    refused = ChangeRefused(code, message, status=409)
    refused.version, refused.state, refused.spans = row.version, row.state, spans_of(row.pk)
    return refused


# Which run's spans an annotator's annotation set begins from, where the project seeds annotations.


UNSTARTED = "unstarted"
"""The state that pages get for a note whose annotation set is still to be started from a run's spans; never stored."""


def seed_of(access: Access, note: models.Document) -> models.AnnotationSet | None:
    """The run's submitted set that this person's annotations of `note` begin from; None where they begin empty.

    Only a person to whom the note is assigned begins from a run: whoever just looks at the note starts nothing.
    """
    run = access.project.seed_from_id
    if run is None:
        return None
    mine = models.Assignment.objects.filter(document_id=note.pk, user_id=access.user.pk)
    if not mine.exclude(state=models.AssignmentState.RELEASED).exists():
        return None
    sets = models.AnnotationSet.objects.filter(
        document_id=note.pk, author_id=run, author__kind__in=models.Author.MODELS
    )
    return sets.filter(state=models.AnnotationSetState.SUBMITTED).first()


def state_of(access: Access, note: models.Document, annotation_set: models.AnnotationSet | None) -> str:
    """The state of this person's annotations of `note`, as pages get it."""
    if annotation_set is not None:
        return annotation_set.state
    return models.AnnotationSetState.DRAFT if seed_of(access, note) is None else UNSTARTED


# Start an annotation set from a run's spans, where the project says so.
#
# Whoever sees a model's spans first tends to agree with them. Such a set is therefore marked as seeded for good, and
# agreement leaves it out (`AnnotationSet.seeded`). Undo doesn't remove the copied spans; annotators can delete them
# like any other span.


def start_annotations(*, access: Access, note: models.Document) -> bool:
    """Make this person's annotation set of `note` from the run's spans, unless there is one. True if this call made it.

    Two calls at once make one set. A run's set that exceeds the limits on spans isn't copied: the annotator then starts
    without spans.
    """
    if access.project.seed_from_id is None or own_set(note.pk, access.user) is not None:
        return False
    try:
        return _start(access, note)
    except ChangeRefused:
        return False


@transaction.atomic
def _start(access: Access, note: models.Document) -> bool:
    keep_labels(note.project_id)
    hold(note.project_id)
    source = seed_of(access, note)
    if source is None:
        return False
    annotation_set, made = models.AnnotationSet.objects.get_or_create(
        document_id=note.pk,
        author=author_of(access.project, access.user),
        # Version 1, so that a page that shows no set (version 0) notices the spans.
        defaults={"blind": access.annotates_blind, "seeded": True, "version": 1},
    )
    if made:
        columns = ("start", "end", "label_id", "confidence", "source", "attributes")
        spans = models.Span.objects.filter(annotation_set=source).order_by("start", "end", "pk").values_list(*columns)
        rows = [
            SpanRow(annotation_set.pk, start, end, label, confidence, origin, attributes=as_json(attributes))
            for start, end, label, confidence, origin, attributes in spans
        ]
        insert_spans(rows)
        check_room(annotation_set.pk, [(row.start, row.end) for row in rows])
        SET_SEEDED.record(
            actor=access.user,
            note=note,
            annotation_set_id=annotation_set.pk,
            data={"from_set": source.pk, "author": source.author_id, "spans": len(rows)},
        )
    return made
