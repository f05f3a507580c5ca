"""Adjudicate a note: each act is one transaction and one event, and can be undone.

The decided spans are the note's adjudicated set. Each act locks its row first, so that the acts of two adjudicators
are made one after another. A request names what the page showed of its locations, and is refused where they have
changed. A change id is recorded only once, so that a request can be sent again.
"""

import time
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from annotations.agreement.events import (
    ADJUDICATION_DECIDED,
    ADJUDICATION_FINISHED,
    ADJUDICATION_REOPENED,
    ADJUDICATION_UNDONE,
    AdjudicationDecided,
)
from annotations.agreement.rules.adjudication import LocationState
from annotations.agreement.selectors.adjudication.desk import Desk, DeskState, desk, desk_state
from annotations.agreement.selectors.adjudication.waiting import unanimous_notes
from annotations.agreement.services.adjudication.log import Effect, apply_effect, check_unchanged, effect_of, last_act
from annotations.agreement.services.adjudication.plan import Act, Request, plan, row_for, unanimous_version
from annotations.agreement.services.comparing import annotation_sets_hash
from annotations.core.errors import ServiceError
from annotations.core.events import Verb
from annotations.core.locks import keep_labels
from annotations.models import (
    Adjudication,
    AnnotationSet,
    AnnotationSetState,
    Author,
    AuthorKind,
    Document,
    Event,
    Project,
    Resolution,
    User,
)
from annotations.text.spans import Span as DomainSpan

Choice = Resolution.Choice
State = AnnotationSetState
NAME = "adjudicated"


def adjudicated_author(project: Project) -> Author:
    author, _ = Author.objects.get_or_create(project=project, kind=AuthorKind.ADJUDICATED, name=NAME)
    return author


def decide(*, project: Project, document: Document, user: User, request: Request) -> DeskState:
    """Make one act, and return the note's new state. An act that changes nothing leaves no event.

    Raises ServiceError: `finished`, `annotators` (fewer than two annotators have submitted), `moved` (others have
    changed the location), `tie`, `annotator`, `label`, `quote`, `outside`, `empty`, `white`, `location`, `nothing`
    (to undo or redo), `change-id`.
    """
    try:
        with transaction.atomic():
            keep_labels(project.pk)
            row = locked_set(project, document)
            made = Event.objects.filter(annotation_set_id=row.pk, change_id=request.change_id).first()
            if made is None:
                _decide(project, document, user, row, request)
            elif made.actor_id != user.pk or made.data.get("act") != request.act:
                raise ServiceError(
                    gettext("This change ID was already used for another change. Reload the page."), code="change-id"
                )
    except IntegrityError:
        # The same request came twice at the same time. The other one made the act: answer with the state.
        if not Event.objects.filter(change_id=request.change_id, actor=user).exists():
            raise
    return desk_state(project, desk(project, document))


def locked_set(project: Project, document: Document) -> AnnotationSet:
    """The note's adjudicated set, with its row locked; made on first use."""
    while True:
        row = (
            AnnotationSet.objects.select_for_update(of=("self",))
            .filter(document_id=document.pk, author__kind=AuthorKind.ADJUDICATED)
            .first()
        )
        if row is not None:
            return row
        AnnotationSet.objects.get_or_create(
            document=document, author=adjudicated_author(project), defaults={"blind": False}
        )


def _decide(project: Project, document: Document, user: User, row: AnnotationSet, request: Request) -> None:
    if row.state == State.SUBMITTED:
        raise ServiceError(
            gettext("The adjudication of this note is finished. Reopen it to change a decision."), code="finished"
        )
    verb: Verb[AdjudicationDecided] = ADJUDICATION_DECIDED
    reverts = None
    if request.act in (Act.UNDO, Act.REDO):
        event = last_act(row, user, redo=request.act is Act.REDO)
        effect = effect_of(event).opposite()
        check_unchanged(row, effect)
        verb, reverts = ADJUDICATION_UNDONE, event.pk
    else:
        found = desk(project, document)
        if not found.ready:
            raise ServiceError(
                gettext("Fewer than two annotators have currently submitted this note."), code="annotators"
            )
        effect = plan(document, user, row, found, request)
        if not effect.before and not effect.after:
            return
    write_decisions(
        project, document, user, row, effect, verb=verb, act=request.act, change_id=request.change_id, reverts=reverts
    )


def write_decisions(
    project: Project, document: Document, user: User, row: AnnotationSet, effect: Effect, *,
    verb: Verb[AdjudicationDecided], act: str, change_id: UUID | None = None, reverts: int | None = None,
) -> None:  # fmt: skip
    apply_effect(row, effect)
    row.version += 1
    row.save(update_fields=["version", "updated_at"])
    verb.record(
        actor=user,
        project_id=project.pk,
        document_id=document.pk,
        annotation_set_id=row.pk,
        data={"before": effect.before, "after": effect.after, "act": str(act)},
        change_id=change_id,
        reverts=reverts,
    )


# ── Finish and reopen ─────────────────────────────────────────────────────────────────────────────────────────────────


def finish_adjudication(*, project: Project, document: Document, user: User) -> Adjudication:
    """Finish the adjudication of a note, so that its outcome can become gold and annotators see it.

    Unanimous locations are accepted here, where the project has that rule. A finished adjudication stays as it is.
    Raises ServiceError (`open`, `annotators`).
    """
    with transaction.atomic():
        keep_labels(project.pk)
        row = locked_set(project, document)
        done = Adjudication.objects.filter(document_id=document.pk).first()
        if row.state == State.SUBMITTED and done is not None:
            return done
        found = desk(project, document)
        if not found.ready:
            raise ServiceError(
                gettext("Fewer than two annotators have currently submitted this note."), code="annotators"
            )
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
        row.state, row.submitted_at = State.SUBMITTED, timezone.now()
        row.version += 1
        row.save(update_fields=["state", "submitted_at", "version", "updated_at"])
        annotation_sets: dict[str, list[DomainSpan]] = {annotator.author: [] for annotator in found.submitted}
        for item in found.items:
            for author, version in item.location.versions.items():
                annotation_sets[author].extend(version)
        done, _made = Adjudication.objects.update_or_create(
            document=document,
            defaults={
                "heard": annotation_sets_hash(annotation_sets),
                "finished_by": user,
                "finished_at": row.submitted_at,
            },
        )
        ADJUDICATION_FINISHED.record(
            actor=user,
            project_id=project.pk,
            document_id=document.pk,
            annotation_set_id=row.pk,
            data={"spans": row.spans.count()},
        )
    return done


def _pass_by_rule(project: Project, document: Document, user: User, row: AnnotationSet, found: Desk) -> Desk:
    passing = [item for item in found.items if item.state is LocationState.AGREED]
    if not passing:
        return found
    rows = [
        row_for(project, user, item, item.start, item.end, Choice.RULE, unanimous_version(item), rule=True)
        for item in passing
    ]
    write_decisions(project, document, user, row, Effect([], rows), verb=ADJUDICATION_DECIDED, act="rule")
    return desk(project, document)


def reopen(*, project: Project, document: Document, user: User) -> None:
    """Reopen a finished adjudication. Its decisions stay, and gold that was made from it doesn't change."""
    with transaction.atomic():
        row = locked_set(project, document)
        if row.state != State.SUBMITTED:
            return
        row.state, row.submitted_at = State.DRAFT, None
        row.version += 1
        row.save(update_fields=["state", "submitted_at", "version", "updated_at"])
        Adjudication.objects.filter(document_id=document.pk).delete()
        ADJUDICATION_REOPENED.record(
            actor=user,
            project_id=project.pk,
            document_id=document.pk,
            annotation_set_id=row.pk,
        )


def finish_unanimous(*, project: Project, user: User, seconds: float) -> tuple[int, int]:
    """Finish unanimous notes by the project's rule, for about `seconds`. Returns how many, and how many are left."""
    if not project.unanimous_passes:
        raise ServiceError(gettext("This project does not accept unanimous annotations automatically."), code="rule")
    until = time.monotonic() + seconds
    waiting = list(unanimous_notes(project).values_list("document_id", flat=True))
    done = 0
    for pk in waiting:
        if time.monotonic() > until:
            break
        document = Document.objects.get(pk=pk, project=project)
        try:
            finish_adjudication(project=project, document=document, user=user)
        except ServiceError:
            continue  # Annotations changed meanwhile: the note waits for an adjudicator.
        done += 1
    return done, len(waiting) - done
