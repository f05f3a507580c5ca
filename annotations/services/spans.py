"""Changing a person's own reading of a note: one change, one short transaction, one event.

Two tabs, a double click and a lost answer must neither lose nor double a span. The set's row is locked first (on
SQLite the whole database, by BEGIN IMMEDIATE); a change id can be recorded once only (constraint `change_once`); a
span that is to change must still be what the page saw, which the UPDATE itself checks.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Now

from annotations.domain import spans as domain
from annotations.models import AnnotationSet, Document, Event, Label, Span, User, Verb
from annotations.models.prepared import PreparedInsert, PreparedRead, PreparedUpdate
from annotations.selectors.workbench import SpanItem, own_set, own_sets, spans_of
from annotations.services import history
from annotations.services.authors import author_of
from annotations.services.changes import Change, Kind, Place, Refused
from annotations.services.events import record

TRIES = 3
_NEW_SPAN = PreparedInsert(Span)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a change. `span` is the span as it is now; `removed` the id of one that is gone.

    `spans` is the whole reading where the page can't know it: somebody (another tab) changed it before this change.
    """

    version: int
    span: SpanItem | None = None
    removed: int | None = None
    already: bool = False
    changed_elsewhere: bool = False
    spans: list[SpanItem] | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change did to the rows: for the event and for the answer. No `verb`: nothing was changed."""

    verb: str | None
    span: int | None
    before: Place | None
    after: Place | None
    data: dict[str, Any]
    reverts: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Locked:
    """The reading's row, held until the transaction ends, with what the change needs to know of its spans.

    `twin` is the id of a span that already is what the change wants to make; `confidence` and `source` are what a span
    to be deleted carries besides its place, for an undo to bring back.
    """

    pk: int
    state: str
    version: int
    blind: bool
    twin: int | None = None
    confidence: float | None = None
    source: str | None = None


def apply_change(*, document: Document, user: User, change: Change, blind: bool = True) -> Answer:
    """Make one change to `user`'s reading of `document`, whose text must be loaded.

    `blind` says whether this person sees nobody else's spans. Made once: the same change again gives the same answer.
    Raises Refused; a conflict (409) carries the reading as it is.
    """
    try:
        answer = _once(document, user, change, blind)
    except Refused as refused:
        # A replay can look like a conflict: its span is gone because it was deleted the first time.
        replayed = _replay(document, user, change)
        if replayed is not None:
            return replayed
        if refused.status == 409:
            _attach_reading(refused, document, user)
        raise
    # So can it look like a span that was there before.
    return (_replay(document, user, change) or answer) if answer.already else answer


def _once(document: Document, user: User, change: Change, blind: bool) -> Answer:
    for _ in range(TRIES):
        try:
            with transaction.atomic():
                return _apply(document, user, change, blind)
        except IntegrityError:
            # Another request did the same at the same time: this very change, the same span, or the person's first set.
            answer = _replay(document, user, change)
            if answer is not None:
                return answer
    raise Refused("busy", "This note is being changed by other requests; try again.", status=503)


def _apply(document: Document, user: User, change: Change, blind: bool) -> Answer:
    span = _wanted(document, change) if change.kind in (Kind.CREATE, Kind.RESIZE) else None
    row = _locked_set(document, user, change, span, blind)
    if row.state != AnnotationSet.State.DRAFT:
        raise _closed(row.state)
    if change.kind is Kind.CREATE:
        effect = _create(row, span, change)
    elif change.kind in (Kind.UNDO, Kind.REDO):
        effect = _step(row, user, change)
    else:
        effect = _alter(row, span, change)
    if effect.verb is not None:
        _bump(document, row, blind, effect.after if change.kind in (Kind.CREATE, Kind.RELABEL) else None)
        record(
            verb=effect.verb,
            actor=user,
            project_id=document.project_id,
            document_id=document.pk,
            annotation_set_id=row.pk,
            data={
                "kind": change.kind.value,
                "span": effect.span,
                "before": effect.before,
                "after": effect.after,
                **effect.data,
            },
            change_id=change.change_id,
            reverts=effect.reverts,
        )
    elsewhere = change.version is not None and change.version != row.version
    return Answer(
        version=row.version + (effect.verb is not None),
        span=_item(effect.span, effect.after),
        removed=effect.span if effect.verb == Verb.SPAN_DELETED else None,
        already=effect.verb is None,
        changed_elsewhere=elsewhere,
        spans=spans_of(row.pk) if elsewhere else None,
        message=effect.message,
    )


def _wanted(document: Document, change: Change) -> domain.Span:
    """The stretch of text that is asked for, trimmed; refused where it leaves the text or isn't what the page shows."""
    try:
        return domain.checked(document.text, domain.Span(change.start, change.end, ""), change.quote)
    except domain.SpanError as error:
        raise Refused(error.code, f"Not saved: {error}.") from None


@cache
def _reading_row(kind: Kind) -> PreparedRead:
    """The person's reading of the note, locked, with what a change of this kind needs to know of its spans."""

    def rows(document: int, user: int, **looked_for: int) -> "QuerySet[AnnotationSet, Any]":
        found = own_sets(document, User(pk=user)).select_for_update(of=("self",))
        spans = Span.objects.filter(annotation_set=OuterRef("pk"), **looked_for).order_by()
        columns = {Kind.DELETE: ("confidence", "source")}.get(kind, ("pk",) if looked_for else ())
        extra = [Subquery(spans.values(column)[:1]) for column in columns]
        return found.values_list("pk", "state", "version", "blind", *extra)

    if kind is Kind.DELETE:
        return PreparedRead(lambda document, user, span: rows(document, user, pk=span), int, int, int)
    if kind in (Kind.UNDO, Kind.REDO):
        return PreparedRead(rows, int, int)
    return PreparedRead(
        lambda document, user, start, end, label: rows(document, user, start=start, end=end, label_id=label),
        *[int] * 5,
    )


def _locked_set(document: Document, user: User, change: Change, span: domain.Span | None, blind: bool) -> Locked:
    looked_for: tuple[int, ...] = ()
    if change.kind is Kind.DELETE:
        looked_for = (change.span or 0,)
    elif change.kind not in (Kind.UNDO, Kind.REDO):
        looked_for = _target(change, span)
    row = _reading_row(change.kind).first(document.pk, user.pk, *looked_for)
    if row is None:
        author = author_of(document.project, user)
        AnnotationSet.objects.get_or_create(document=document, author=author, defaults={"blind": blind})
        row = _reading_row(change.kind).first(document.pk, user.pk, *looked_for)
        assert row is not None  # it was made just now
    pk, state, version, was_blind, *more = row
    if change.kind is Kind.DELETE:
        return Locked(pk, state, version, was_blind, confidence=more[0], source=more[1])
    return Locked(pk, state, version, was_blind, twin=more[0] if more else None)


def _target(change: Change, span: domain.Span | None) -> Place:
    """The place and label that a create, relabel or resize is to end with."""
    if span is not None:
        return span.start, span.end, change.label if change.seen is None else change.seen[2]
    assert change.seen is not None  # read_change saw to it
    return change.seen[0], change.seen[1], change.label


def _closed(state: str) -> Refused:
    if state == AnnotationSet.State.SUBMITTED:
        return Refused("submitted", "This note is submitted. Reopen it to change it.", status=409)
    return Refused("withdrawn", "This reading was withdrawn; ask a manager to bring you back.", status=409)


def _create(row: Locked, span: domain.Span | None, change: Change) -> Effect:
    place = _target(change, span)
    if row.twin is not None:
        return Effect(None, row.twin, place, place, {}, message="That span is there already.")
    made = _NEW_SPAN.run(Span(annotation_set_id=row.pk, start=place[0], end=place[1], label_id=place[2]))
    return Effect(Verb.SPAN_CREATED, made.pk, None, place, {})


def _alter(row: Locked, span: domain.Span | None, change: Change) -> Effect:
    """Relabel, resize or delete, provided that the span still is what the page saw."""
    assert change.seen is not None  # read_change saw to it
    start, end, label = change.seen
    rows = Span.objects.filter(pk=change.span or 0, annotation_set_id=row.pk, start=start, end=end, label_id=label)
    if change.kind is Kind.DELETE:
        if not rows.delete()[0]:
            raise _changed_meanwhile()
        carried = {"confidence": row.confidence, "source": row.source}
        return Effect(Verb.SPAN_DELETED, change.span, change.seen, None, {k: v for k, v in carried.items() if v})
    place = _target(change, span)
    twin = row.twin
    if twin is not None:
        return Effect(None, twin, place, place, {}, message="That span is there already.")
    if not rows.update(start=place[0], end=place[1], label_id=place[2]):
        raise _changed_meanwhile()
    return Effect(Verb.SPAN_CHANGED, change.span, change.seen, place, {})


def _changed_meanwhile() -> Refused:
    return Refused("changed", "That span was changed or deleted in the meantime; nothing was overwritten.", status=409)


def _step(row: Locked, user: User, change: Change) -> Effect:
    """Undo or redo, from the event log."""
    find = history.last_undoable if change.kind is Kind.UNDO else history.last_redoable
    event = find(annotation_set_id=row.pk, user=user)
    if event is None:
        raise Refused("nothing", f"There is nothing to {change.kind}.", status=409)
    before, after = history.inverse(event)
    span = event.data["span"]
    if not history.take_back(annotation_set_id=row.pk, event=event):
        return Effect(
            Verb.SPAN_UNDO_SKIPPED, span, None, None, {}, event.pk,
            f"The last change to {change.kind} no longer fits this note (its label or span was changed since); "
            "it was left out.",
        )  # fmt: skip
    verb = Verb.SPAN_CREATED if before is None else Verb.SPAN_DELETED if after is None else Verb.SPAN_CHANGED
    return Effect(verb, span, before, after, history.carried(event), event.pk)


@cache
def _counted(label_must_be_there: bool, eyes_opened: bool) -> PreparedUpdate:
    def change(pk: int, *of_label: int) -> "tuple[QuerySet[AnnotationSet], dict[str, Any]]":
        rows = AnnotationSet.objects.filter(pk=pk)
        if of_label:
            label, project = of_label
            there = Label.objects.filter(pk=label, label_set__project_id=project, merged_into__isnull=True)
            rows = rows.filter(Exists(there))
        values: dict[str, Any] = {"version": F("version") + 1, "updated_at": Now()}
        return rows, values | ({"blind": False} if eyes_opened else {})

    return PreparedUpdate(change, *[int] * (3 if label_must_be_there else 1))


def _bump(document: Document, row: Locked, blind: bool, place: Place | None) -> None:
    """Count the change. Looks at the label only now: a merge can't begin any more once a span names the label."""
    statement = _counted(place is not None, row.blind and not blind)
    if not statement.run(row.pk, *((place[2], document.project_id) if place else ())):
        raise Refused("label", "That label is no longer in this project; load the page again.", status=409)


def _item(span: int | None, place: Place | None) -> SpanItem | None:
    if span is None or place is None:
        return None
    return SpanItem(id=span, start=place[0], end=place[1], label=place[2])


def _replay(document: Document, user: User, change: Change) -> Answer | None:
    """The answer to a change that was made before, with the reading as it is now; None if it wasn't."""
    row = own_set(document.pk, user)
    if row is None:
        return None
    event = Event.objects.filter(annotation_set_id=row.pk, change_id=change.change_id).first()
    if event is None:
        return None
    if event.data["kind"] != change.kind:
        raise Refused("change-id", "This change id was used for another change.", status=409)
    after = event.data["after"]
    return Answer(
        version=row.version,
        span=_item(event.data["span"], tuple(after) if after else None),
        removed=event.data["span"] if event.verb == Verb.SPAN_DELETED else None,
        changed_elsewhere=True,
        spans=spans_of(row.pk),
    )


def _attach_reading(refused: Refused, document: Document, user: User) -> None:
    row = own_set(document.pk, user)
    refused.version = row.version if row else 0
    refused.state = row.state if row else AnnotationSet.State.DRAFT
    refused.spans = spans_of(row.pk) if row else []
