"""A person's own annotation set of a note: begun, locked and counted for a change, submitted and reopened.

Submitting and reopening change the assignment in the same transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations import models
from annotations.annotate.events import SET_REOPENED, SET_SUBMITTED, SetMoved
from annotations.core.access import Access
from annotations.core.services import SET_SEEDED, SetSeeded, Verb, keep_labels
from annotations.core.spans import ChangeRefused, own_set, own_sets
from annotations.models.prepared import PreparedRead, PreparedUpdate
from annotations.notes.selectors.comments import has_seen_outcome
from annotations.text.spans import LabeledBounds, crowd_in

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
        raise ChangeRefused("unseen", message, status=409).showing(own_set(note.pk, access.user))
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
        _make(document, user, blind=blind)
        row = rows.get()
    if row.state == State.SUBMITTED:
        return SetStatus(row.version, row.state)
    if row.state == State.WITHDRAWN:
        raise withdrawn()
    if version is not None and version != row.version:
        message = _("This note was changed in another tab. Check it, then submit.")
        raise ChangeRefused("stale", message, status=409).showing(row)
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


# Begin an annotation set, from a run's spans where the project says so.
#
# Whoever sees a model's spans first tends to agree with them. Such a set is therefore marked as seeded for good, and
# agreement leaves it out (`AnnotationSet.seeded`). Undo doesn't remove the copied spans; annotators can delete them
# like any other span.


_COPIED = ("start", "end", "label_id", "confidence", "source", "attributes")


def start_annotations(*, access: Access, note: models.Document) -> bool:
    """Make this person's annotation set of `note` from the run's spans, unless there is one. True if this call made it.

    Two calls at once make one set. A run's set that exceeds the limits on spans isn't copied: the annotator then starts
    without spans. Raises ChangeRefused (404) if the note is erased meanwhile.
    """
    if access.project.seed_from_id is None or own_set(note.pk, access.user) is not None:
        return False
    try:
        return _begin(access, note, empty=False) is not None
    except IntegrityError:
        raise ChangeRefused("erased", _("This note was erased."), status=404) from None


@transaction.atomic
def _begin(access: Access, note: models.Document, *, empty: bool = True) -> models.AnnotationSet | None:
    """Make this person's annotation set of `note`, unless there is one; return it if it begins from a run's spans.

    With `empty`, a set that begins from no run is made, too.
    """
    if access.project.seed_from_id is not None:
        keep_labels(note.project_id)
    source = seed_of(access, note)
    spans = list(source.spans.order_by("start", "end", "pk").values_list(*_COPIED)) if source else []
    if crowd_in((start, end) for start, end, *_ in spans) is not None:
        source = None
    if source is None and not empty:
        return None
    # Version 1, so that a page that shows no set (version 0) notices the spans.
    seeded = {"seeded": True, "version": 1} if source else {}
    annotation_set, made = _make(note, access.user, blind=access.annotates_blind, **seeded)
    if source is None or not made:
        return None
    models.Span.objects.bulk_create(
        models.Span(annotation_set=annotation_set, **dict(zip(_COPIED, each, strict=True))) for each in spans
    )
    data: SetSeeded = {"from_set": source.pk, "author": source.author_id, "spans": len(spans)}
    SET_SEEDED.record(actor=access.user, note=note, annotation_set_id=annotation_set.pk, data=data)
    return annotation_set


def _make(note: models.Document, user: models.User, **values: Any) -> tuple[models.AnnotationSet, bool]:
    """This person's annotation set of `note`, made with these values unless there is one, and whether it was made."""
    author, _new = models.Author.objects.get_or_create(
        project=note.project, kind=models.AuthorKind.ANNOTATOR, name=user.username, defaults={"user": user}
    )
    if author.user_id is None:  # An import made the author in the moment in which the person joined the project.
        models.Author.objects.filter(pk=author.pk).update(user=user)
    return models.AnnotationSet.objects.get_or_create(document=note, author=author, defaults=values)


def seeded_from(annotation_set: models.AnnotationSet | None) -> str:
    """The sentence that says which run's spans the annotation set began from; empty where it began without spans."""
    if annotation_set is None or not annotation_set.seeded:
        return ""
    events = models.Event.objects.filter(annotation_set_id=annotation_set.pk, verb=SET_SEEDED)
    event = events.order_by("id").first()
    run = models.Author.objects.filter(pk=event.data.get("author")).first() if event else None
    return _("Began from the spans of %(run)s.") % {"run": run.name if run else _("a model")}


# The set's row in the transaction of a change: locked, and counted at the end.


@dataclass(frozen=True, slots=True)
class LockedSet:
    """The annotation set's row, locked until the transaction ends, and the columns of its spans that the change needs.

    `twin` is the id of a span that already has the wanted bounds and label. `attributes` (as JSON text), `confidence`
    and `source` are columns of the span that is changed. `seeded` says which run's spans the set began from,
    if this change began it.
    """

    pk: int
    state: str
    version: int
    blind: bool
    twin: int | None
    attributes: str | None = None
    confidence: float | None = None
    source: str | None = None
    seeded: str = field(default="", kw_only=True)


def _locking(document: int, user: int, start: int, end: int, label: int, span: int = 0) -> "QuerySet[Any, Any]":
    """The query that locks the person's annotation set of the note. `span` is the span to change, if any."""

    def of_span(column: str, **looked_for: int) -> Subquery:
        spans = models.Span.objects.filter(annotation_set=OuterRef("pk"), **looked_for).order_by()
        return Subquery(spans.values(column)[:1])

    columns: list[str | Subquery] = ["pk", "state", "version", "blind"]
    columns.append(of_span("pk", start=start, end=end, label_id=label))
    if span:
        columns += [of_span(column, pk=span) for column in ("attributes", "confidence", "source")]
    return own_sets(document, models.User(pk=user)).select_for_update(of=("self",)).values_list(*columns)


_LOCK = PreparedRead(_locking, *[int] * 5)
_LOCK_WITH_SPAN = PreparedRead(_locking, *[int] * 6)


def lock_own_set(access: Access, note: models.Document, wanted: LabeledBounds, span: int) -> LockedSet:
    """Lock the person's annotation set, which their first change begins. `span` is the id of the span to change, or 0.

    Raises ChangeRefused (409) unless it is a draft.
    """
    query, values = (_LOCK_WITH_SPAN, (*wanted, span)) if span else (_LOCK, wanted)
    row, seeded = query.first(note.pk, access.user.pk, *values), ""
    if row is None:
        seeded = seeded_from(_begin(access, note))
        row = query.first(note.pk, access.user.pk, *values)
        assert row is not None  # It was made above.
    held = LockedSet(*row, seeded=seeded)
    if held.state == State.SUBMITTED:
        raise ChangeRefused("submitted", _("This note is submitted. Reopen it to change it."), status=409)
    if held.state != State.DRAFT:
        raise withdrawn()
    return held


@cache
def _counted(with_label: bool, unblind: bool) -> PreparedUpdate:
    def change(pk: int, *of_label: int) -> "tuple[QuerySet[models.AnnotationSet], dict[str, Any]]":
        rows = models.AnnotationSet.objects.filter(pk=pk)
        if of_label:
            label, project = of_label
            exists = models.Label.objects.filter(pk=label, label_set__project_id=project, merged_into__isnull=True)
            rows = rows.filter(Exists(exists))
        values: dict[str, Any] = {"version": F("version") + 1, "updated_at": Now()}
        return rows, values | ({"blind": False} if unblind else {})

    return PreparedUpdate(change, *[int] * (3 if with_label else 1))


def count_change(access: Access, row: LockedSet, labels: Sequence[int]) -> None:
    """Add 1 to the set's version. Raises ChangeRefused (409) if the project no longer has one of the change's labels.

    `labels` are the ids of the labels that the change gives to spans; keep_labels has locked the label set.
    """
    project, there = access.project.pk, True
    if len(labels) > 1:
        known = models.Label.objects.filter(pk__in=labels, label_set__project_id=project, merged_into__isnull=True)
        there = known.count() == len(labels)
    statement = _counted(bool(labels), row.blind and not access.annotates_blind)
    if not there or not statement.run(row.pk, *((labels[0], project) if labels else ())):
        raise ChangeRefused("label", _("This label is no longer in the project. Reload the page."), status=409)
