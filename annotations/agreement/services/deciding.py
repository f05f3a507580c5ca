"""Adjudicate a note: each act is one transaction and one event, and can be undone.

The decided spans are the note's adjudicated set. Each act locks its row first, so that the acts of two adjudicators
are made one after another. A request names what the page showed of its locations, and is refused where they have
changed. A change id is recorded only once, so that a request can be sent again.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Unpack
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from annotations import models
from annotations.agreement import events
from annotations.agreement.rules.units import LocationState, SpanOutcome, outcome
from annotations.agreement.selectors.adjudications import unanimous_notes
from annotations.agreement.selectors.desk import Desk, DeskState, desk, desk_state
from annotations.agreement.services import plan as plan_services
from annotations.agreement.services.comparing import annotation_sets_hash
from annotations.core.access import Access
from annotations.core.batches import BatchOutcome
from annotations.core.services import NOTE_READ, ServiceError, Verb, Whose, keep_labels
from annotations.core.spans import own_set, spans_of
from annotations.notes.selectors.comments import outcome_set
from annotations.text.spans import Span

Choice = models.Resolution.Choice
State = models.AnnotationSetState
NAME = "adjudicated"


def adjudicated_author(project: models.Project) -> models.Author:
    author, _ = models.Author.objects.get_or_create(project=project, kind=models.AuthorKind.ADJUDICATED, name=NAME)
    return author


def decide(
    *, project: models.Project, document: models.Document, user: models.User, request: plan_services.Request
) -> DeskState:
    """Make one act, and return the note's new state. An act that changes nothing leaves no event.

    Raises ServiceError: `finished`, `annotators` (fewer than two annotators have submitted), `moved` (others have
    changed the location), `tie`, `annotator`, `label`, `quote`, `outside`, `empty`, `white`, `location`, `nothing`
    (to undo or redo), `change-id`.
    """
    done = decide_many(project=project, document=document, user=user, requests={0: request})
    for error in done.errors.values():
        raise error
    return done.state


def decide_many(
    *, project: models.Project, document: models.Document, user: models.User,
    requests: Mapping[int, plan_services.Request],
) -> BatchOutcome[DeskState]:  # fmt: skip
    """Make acts, by their places in the batch, in one transaction. A refused one leaves the others as they are."""
    ids = [request.change_id for request in requests.values()]
    try:
        errors = _stored(project, document, user, requests)
    except IntegrityError:
        # The same request came twice at the same time. The other one made the acts: answer with the state.
        if not models.Event.objects.filter(change_id__in=ids, actor=user).exists():
            raise
        errors = _stored(project, document, user, requests)
    steps = models.Event.objects.filter(document_id=document.pk, change_id__in=ids).count()
    return BatchOutcome(errors, steps, desk_state(project, desk(project, document)))


def _stored(
    project: models.Project, document: models.Document, user: models.User, requests: Mapping[int, plan_services.Request]
) -> dict[int, ServiceError]:
    """Make the acts that were not made before. Returns the errors of the refused ones."""
    errors: dict[int, ServiceError] = {}
    found: Desk | None = None
    decided: set[plan_services.ShownLocation] = set()
    with transaction.atomic():
        keep_labels(project.pk)
        row = locked_set(project, document)
        for place, request in requests.items():
            if not decided.isdisjoint(request.seen):
                found = None  # the act must see what the batch has decided there
            decided |= set(request.seen)
            try:
                with transaction.atomic():
                    if not _was_made(row, user, request):
                        found = _decide(project, document, user, row, request, found)
            except ServiceError as error:
                errors[place], found = error, None
                row = locked_set(project, document)
    return errors


def _was_made(row: models.AnnotationSet, user: models.User, request: plan_services.Request) -> bool:
    """Whether this act is stored already. Raises ServiceError (`change-id`) if its id is another act's."""
    made = models.Event.objects.filter(annotation_set_id=row.pk, change_id=request.change_id).first()
    if made is not None and (made.actor_id != user.pk or made.data.get("act") != request.act):
        message = gettext("This change ID was already used for another change. Reload the page.")
        raise ServiceError(message, code="change-id")
    return made is not None


def locked_set(project: models.Project, document: models.Document) -> models.AnnotationSet:
    """The note's adjudicated set, with its row locked; made on first use."""
    while True:
        row = (
            models.AnnotationSet.objects.select_for_update(of=("self",))
            .filter(document_id=document.pk, author__kind=models.AuthorKind.ADJUDICATED)
            .first()
        )
        if row is not None:
            return row
        models.AnnotationSet.objects.get_or_create(
            document=document, author=adjudicated_author(project), defaults={"blind": False}
        )


def _decide(
    project: models.Project,
    document: models.Document,
    user: models.User,
    row: models.AnnotationSet,
    request: plan_services.Request,
    found: Desk | None,
) -> Desk | None:
    """Make an act. `found`: the note as it was before the batch's other acts, if these were only on other locations.

    Returns the same for the next act.
    """
    if row.state == State.SUBMITTED:
        message = gettext("The adjudication of this note is finished. Reopen it to change a decision.")
        raise ServiceError(message, code="finished")
    verb: Verb[events.AdjudicationDecided] = events.ADJUDICATION_DECIDED
    reverts = None
    if request.act in (plan_services.Act.UNDO, plan_services.Act.REDO):
        event = plan_services.last_act(row, user, redo=request.act is plan_services.Act.REDO)
        effect = plan_services.effect_of(event).opposite()
        plan_services.check_unchanged(row, effect)
        verb, reverts = events.ADJUDICATION_UNDONE, event.pk
    else:
        found = found or _ready(project, document)
        effect = plan_services.plan(document, user, row, found, request)
        if not effect.before and not effect.after:
            return found
    write_decisions(
        project, document, user, row, effect, verb=verb, act=request.act, change_id=request.change_id, reverts=reverts
    )
    return found if request.act in plan_services.ON_ONE_LOCATION else None


def _ready(project: models.Project, document: models.Document) -> Desk:
    found = desk(project, document)
    if not found.ready:
        raise ServiceError(gettext("Fewer than two annotators have currently submitted this note."), code="annotators")
    return found


def write_decisions(
    project: models.Project, document: models.Document, user: models.User, row: models.AnnotationSet,
    effect: plan_services.Effect, *, verb: Verb[events.AdjudicationDecided], act: str, change_id: UUID | None = None,
    reverts: int | None = None,
) -> None:  # fmt: skip
    plan_services.apply_effect(row, effect)
    row.version += 1
    row.save(update_fields=["version", "updated_at"])
    data: events.AdjudicationDecided = {"before": effect.before, "after": effect.after, "act": str(act)}
    verb.record(data=data, **whose(project, user, row, change_id=change_id, reverts=reverts))


def whose(project: models.Project, user: models.User | None, row: models.AnnotationSet, **more: Unpack[Whose]) -> Whose:
    """Whose act an event is, and the note and the set that it is about."""
    where: Whose = {"project_id": project.pk, "document_id": row.document_id, "annotation_set_id": row.pk}
    return {"actor": user, **where, **more}


# ── Finish and reopen ─────────────────────────────────────────────────────────────────────────────────────────────────


def finish_adjudication(
    *, project: models.Project, document: models.Document, user: models.User
) -> models.Adjudication:
    """Finish the adjudication of a note, so that its outcome can become gold and annotators see it.

    Unanimous locations are accepted here, where the project has that rule. A finished adjudication stays as it is.
    Raises ServiceError (`open`, `annotators`).
    """
    with transaction.atomic():
        keep_labels(project.pk)
        row = locked_set(project, document)
        done = models.Adjudication.objects.filter(document_id=document.pk).first()
        if row.state == State.SUBMITTED and done is not None:
            return done
        found = _ready(project, document)
        if project.unanimous_passes:
            found = _pass_by_rule(project, document, user, row, found)
        left = len(found.open_items(unanimous_passes=False))
        if left:
            message = ngettext(
                "%(count)s disagreement is still open. Resolve it before you finish.",
                "%(count)s disagreements are still open. Resolve them before you finish.",
                left,
            )
            raise ServiceError(message % {"count": left}, code="open")
        now = timezone.now()
        _set_state(row, State.SUBMITTED, now)
        annotation_sets = {
            annotator.author: [
                span for item in found.items for span in item.location.versions.get(annotator.author, ())
            ]
            for annotator in found.submitted
        }
        defaults = {"heard": annotation_sets_hash(annotation_sets), "finished_by": user, "finished_at": now}
        done, _made = models.Adjudication.objects.update_or_create(document=document, defaults=defaults)
        spans = row.spans.count()
        events.ADJUDICATION_FINISHED.record(data={"spans": spans}, **whose(project, user, row))
    return done


def _pass_by_rule(
    project: models.Project, document: models.Document, user: models.User, row: models.AnnotationSet, found: Desk
) -> Desk:
    passing = [item for item in found.items if item.state is LocationState.AGREED]
    if not passing:
        return found
    effect = plan_services.Effect([], [plan_services.row_for(project, user, item, Choice.RULE) for item in passing])
    write_decisions(project, document, user, row, effect, verb=events.ADJUDICATION_DECIDED, act="rule")
    return desk(project, document)


def reopen(*, project: models.Project, document: models.Document, user: models.User) -> None:
    """Reopen a finished adjudication. Its decisions stay, and gold that was made from it doesn't change."""
    with transaction.atomic():
        row = locked_set(project, document)
        if row.state != State.SUBMITTED:
            return
        _set_state(row, State.DRAFT, None)
        models.Adjudication.objects.filter(document_id=document.pk).delete()
        events.ADJUDICATION_REOPENED.record(**whose(project, user, row))


def _set_state(row: models.AnnotationSet, state: models.AnnotationSetState, at: datetime | None) -> None:
    row.state, row.submitted_at = state, at
    row.version += 1
    row.save(update_fields=["state", "submitted_at", "version", "updated_at"])


@dataclass(frozen=True)
class FinishedNotes:
    """How many unanimous notes were finished, and how many are left for another request."""

    finished: int
    left: int


def finish_unanimous(*, project: models.Project, user: models.User, seconds: float = 5.0) -> FinishedNotes:
    """Finish unanimous notes by the project's rule, for about `seconds`. Raises ServiceError `rule` without it."""
    if not project.unanimous_passes:
        raise ServiceError(gettext("This project does not accept unanimous annotations automatically."), code="rule")
    until = time.monotonic() + seconds
    waiting = list(unanimous_notes(project).values_list("document_id", flat=True))
    done = 0
    for pk in waiting:
        if time.monotonic() > until:
            break
        document = models.Document.objects.get(pk=pk, project=project)
        try:
            finish_adjudication(project=project, document=document, user=user)
        except ServiceError:
            continue  # Annotations changed meanwhile: the note waits for an adjudicator.
        done += 1
    return FinishedNotes(done, len(waiting) - done)


# ── The outcome for annotators ───────────────────────────────────────────────────────────────────────────────────────


def open_outcome(*, access: Access, note: models.Document) -> tuple[models.AnnotationSet, list[SpanOutcome]]:
    """Return the adjudicated set, and what became of each span. The labels of the spans are ids.

    This person can't annotate the note blind any more, so the event says that they have seen the outcome.
    Raises Http404 before they have submitted the note or the adjudication is finished, and PermissionDenied where the
    project shows no outcomes.
    """
    own = own_set(note.pk, access.user)
    if own is None or own.state != State.SUBMITTED:
        raise Http404("no submitted annotations of this person")
    if not access.project.show_outcome:
        raise PermissionDenied("this project shows no outcomes")
    adjudicated = outcome_set(access.project, note.pk)
    if adjudicated is None:
        raise Http404("not adjudicated yet")
    NOTE_READ.record(actor=access.user, note=note, data={"what": "outcome"})
    return adjudicated, outcome(_spans(own.pk), _spans(adjudicated.pk))


def _spans(pk: int) -> list[Span]:
    return [Span(span["start"], span["end"], str(span["label"])) for span in spans_of(pk)]
