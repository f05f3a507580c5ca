"""Adjudicating a note: each act one transaction and one event, all of them reversible.

The decided spans are the note's adjudicated set. Its row is locked first, so that two adjudicators of one note take
turns; each act says what the page showed of the places it is about, and is refused where that is no longer so; a
change id is recorded once only, so that a replay is harmless.
"""

import time
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from annotations.adjudicate.selectors.desk import Desk, desk, desk_state
from annotations.adjudicate.selectors.waiting import unanimous_notes
from annotations.adjudicate.services.log import Effect, apply_effect, check_there, effect_of, last_act
from annotations.adjudicate.services.plan import Act, Request, plan, row_for, said_by_all
from annotations.agreement.services.comparing import readings_hash
from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.domain.adjudication import Standing
from annotations.domain.spans import Span as DomainSpan
from annotations.models import (
    Adjudication,
    AnnotationSet,
    Author,
    Document,
    Event,
    Project,
    Resolution,
    User,
    Verb,
)

Choice = Resolution.Choice
State = AnnotationSet.State
NAME = "adjudicated"


def adjudicated_author(project: Project) -> Author:
    author, _ = Author.objects.get_or_create(project=project, kind=Author.Kind.ADJUDICATED, name=NAME)
    return author


def decide(*, project: Project, document: Document, user: User, request: Request) -> dict[str, Any]:
    """Make one act. Returns the note as it then stands.

    What would change nothing is no act, and leaves no event. Raises ServiceError: `closed`, `readers` (fewer than two
    have submitted), `moved` (changed since by others), `tie`, `reader`, `label`, `quote`, `outside`, `empty`, `white`,
    `place`, `nothing` (to undo or redo), `change-id`.
    """
    try:
        with transaction.atomic():
            row = _locked(project, document)
            made = Event.objects.filter(annotation_set_id=row.pk, change_id=request.change_id).first()
            if made is None:
                _decide(project, document, user, row, request)
            elif made.actor_id != user.pk or made.data.get("act") != request.act:
                raise ServiceError(gettext("this change id was used for another change"), code="change-id")
    except IntegrityError:
        # The same change at the same moment from another tab: it is made once, and this is its answer.
        if not Event.objects.filter(change_id=request.change_id, actor=user).exists():
            raise
    return desk_state(project, desk(project, document))


def _locked(project: Project, document: Document) -> AnnotationSet:
    """The note's adjudicated set, made on first use; its row stays locked."""
    while True:
        row = (
            AnnotationSet.objects.select_for_update(of=("self",))
            .filter(document_id=document.pk, author__kind=Author.Kind.ADJUDICATED)
            .first()
        )
        if row is not None:
            return row
        AnnotationSet.objects.get_or_create(
            document=document, author=adjudicated_author(project), defaults={"blind": False}
        )


def _decide(project: Project, document: Document, user: User, row: AnnotationSet, request: Request) -> None:
    if row.state == State.SUBMITTED:
        raise ServiceError(gettext("this note's adjudication is closed; reopen it to change a decision"), code="closed")
    verb, reverts = Verb.ADJUDICATED, None
    if request.act in (Act.UNDO, Act.REDO):
        event = last_act(row, user, redo=request.act is Act.REDO)
        effect = effect_of(event).opposite()
        check_there(row, effect)
        verb, reverts = Verb.ADJUDICATION_UNDONE, event.pk
    else:
        found = desk(project, document)
        if not found.ready:
            raise ServiceError(gettext("fewer than two annotators have submitted this note now"), code="readers")
        effect = plan(document, user, row, found, request)
        if not effect.before and not effect.after:
            return
    _write(
        project, document, user, row, effect, verb=verb, act=request.act, change_id=request.change_id, reverts=reverts
    )


def _write(
    project: Project, document: Document, user: User, row: AnnotationSet, effect: Effect, *,
    verb: Verb, act: str, change_id: UUID | None = None, reverts: int | None = None,
) -> None:  # fmt: skip
    apply_effect(row, effect)
    row.version += 1
    row.save(update_fields=["version", "updated_at"])
    record(
        verb=verb,
        actor=user,
        project_id=project.pk,
        document_id=document.pk,
        annotation_set_id=row.pk,
        data=effect.data() | {"act": str(act)},
        change_id=change_id,
        reverts=reverts,
    )


# ── Beginning and end ─────────────────────────────────────────────────────────────────────────────────────────────────


def close(*, project: Project, document: Document, user: User) -> Adjudication:
    """End the adjudication of a note: its outcome can become gold, and annotators see it. Twice is once.

    What all annotators say passes here by the project's rule, where it has one. Raises ServiceError `open`, `readers`.
    """
    with transaction.atomic():
        row = _locked(project, document)
        done = Adjudication.objects.filter(document_id=document.pk).first()
        if row.state == State.SUBMITTED and done is not None:
            return done
        found = desk(project, document)
        if not found.ready:
            raise ServiceError(gettext("fewer than two annotators have submitted this note now"), code="readers")
        if project.unanimous_passes:
            found = _pass_by_rule(project, document, user, row, found)
        left = len(found.open_items(unanimous_passes=False))
        if left:
            message = ngettext(
                "%(count)s place is still open; decide first, then close the note",
                "%(count)s places are still open; decide first, then close the note",
                left,
            )
            raise ServiceError(message % {"count": left}, code="open")
        row.state, row.submitted_at = State.SUBMITTED, timezone.now()
        row.version += 1
        row.save(update_fields=["state", "submitted_at", "version", "updated_at"])
        readings: dict[str, list[DomainSpan]] = {reader.author: [] for reader in found.heard}
        for item in found.items:
            for author, version in item.place.versions.items():
                readings[author].extend(version)
        done, _made = Adjudication.objects.update_or_create(
            document=document,
            defaults={"heard": readings_hash(readings), "closed_by": user, "closed_at": row.submitted_at},
        )
        _record(Verb.ADJUDICATION_CLOSED, project, document, user, row, {"spans": row.spans.count()})
    return done


def _pass_by_rule(project: Project, document: Document, user: User, row: AnnotationSet, found: Desk) -> Desk:
    passing = [item for item in found.items if item.standing is Standing.AGREED]
    if not passing:
        return found
    rows = [
        row_for(project, user, item, item.start, item.end, Choice.RULE, said_by_all(item), rule=True)
        for item in passing
    ]
    _write(project, document, user, row, Effect([], rows), verb=Verb.ADJUDICATED, act="rule")
    return desk(project, document)


def reopen(*, project: Project, document: Document, user: User) -> None:
    """Take a closed adjudication up again. What is decided stays; gold that was made of it stays as it is."""
    with transaction.atomic():
        row = _locked(project, document)
        if row.state != State.SUBMITTED:
            return
        row.state, row.submitted_at = State.DRAFT, None
        row.version += 1
        row.save(update_fields=["state", "submitted_at", "version", "updated_at"])
        Adjudication.objects.filter(document_id=document.pk).delete()
        _record(Verb.ADJUDICATION_REOPENED, project, document, user, row, {})


def _record(
    verb: Verb, project: Project, document: Document, user: User, row: AnnotationSet, data: dict[str, Any]
) -> None:
    record(
        verb=verb, actor=user, project_id=project.pk, document_id=document.pk, annotation_set_id=row.pk, data=data
    )  # fmt: skip


def close_unanimous(*, project: Project, user: User, seconds: float) -> tuple[int, int]:
    """Close the notes on which all agree, by the project's rule, for `seconds` at most: how many, how many are left."""
    if not project.unanimous_passes:
        raise ServiceError(gettext("this project has no rule that what all annotators said passes"), code="rule")
    until = time.monotonic() + seconds
    waiting = list(unanimous_notes(project).values_list("document_id", flat=True))
    done = 0
    for pk in waiting:
        if time.monotonic() > until:
            break
        document = Document.objects.get(pk=pk, project=project)
        try:
            close(project=project, document=document, user=user)
        except ServiceError:
            continue  # reopened or read otherwise meanwhile: it waits for an adjudicator
        done += 1
    return done, len(waiting) - done
