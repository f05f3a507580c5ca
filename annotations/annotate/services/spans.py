"""Changing a person's own reading of a note: one change, one short transaction, one event.

Two tabs, a double click and a lost answer must neither lose nor double a span. The set's row is held first (see
services.locking); a change id can be recorded once only (constraint `change_once`); a span that is to change must still
be what the page saw, which the UPDATE itself checks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext, ngettext

from annotations.annotate.services import history
from annotations.annotate.services.locking import Locked, count_change, hold, target
from annotations.core.changes import Change, Kind, Place, Refused, Wanted
from annotations.core.events import record
from annotations.core.label_lock import keep_labels
from annotations.core.room import check_room
from annotations.core.spans import SpanItem, own_set, spans_of
from annotations.domain import spans as domain
from annotations.models import AnnotationSet, Document, Event, Span, User, Verb
from annotations.models.prepared import PreparedInsert

TRIES = 3
_NEW_SPAN = PreparedInsert(Span)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a change. `span` is the span as it is now; `removed` the id of one that is gone.

    Of many: `made` are the new spans, `already` is how many of those asked for were there. `spans` is the whole reading
    where the page can't know it: somebody (another tab) changed it before this change, or the change moved many spans.
    """

    version: int
    span: SpanItem | None = None
    removed: int | None = None
    made: list[SpanItem] | None = None
    already: int = 0
    changed_elsewhere: bool = False
    spans: list[SpanItem] | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change did to the rows: for the event and for the answer. No `verb`: nothing was changed.

    `data` is the event's, in one of the two shapes that services.history reads. `labels` are those that it gave.
    """

    verb: str | None
    data: dict[str, Any]
    labels: Sequence[int] = ()
    already: int = 0
    reverts: int | None = None
    message: str = ""

    @property
    def places(self) -> list[tuple[int, int]]:
        """Where it put spans: none where it took them away, or only gave them another label."""
        if self.verb == Verb.SPANS_CREATED:
            return [(start, end) for _, start, end, _ in self.data["spans"]]
        before, after = self.data.get("before"), self.data.get("after")
        if after is None or (before is not None and tuple(before[:2]) == tuple(after[:2])):
            return []
        return [(after[0], after[1])]

    @property
    def adds(self) -> bool:
        """Whether there are more spans now than before."""
        return self.verb in (Verb.SPAN_CREATED, Verb.SPANS_CREATED)


def apply_change(*, document: Document, user: User, change: Change, blind: bool = True) -> Answer:
    """Make one change to `user`'s reading of `document`, whose text must be loaded.

    `blind` says whether this person sees nobody else's spans. Made once: the same change again gives the same answer.
    Raises Refused; a conflict (409) carries the reading as it is.
    """
    try:
        answer = _as_of_today(document, user, change, blind)
    except Refused as refused:
        # A replay can look like a conflict: its span is gone because it was deleted the first time.
        replayed = _replay(document, user, change)
        if replayed is not None:
            return replayed
        if refused.status == 409:
            _attach_reading(refused, document, user)
        raise
    # So can it look like spans that were there before.
    return (_replay(document, user, change) or answer) if answer.already else answer


def _as_of_today(document: Document, user: User, change: Change, blind: bool) -> Answer:
    """A page may name labels that were merged since it was loaded: they mean what they became, as in an undo."""
    try:
        return _once(document, user, change, blind)
    except Refused as refused:
        if refused.code not in ("label", "changed"):
            raise
        today = _with_labels_of_today(change)
        if today == change:
            raise
    answer = _once(document, user, today, blind)
    message = (
        "" if today.asked == change.asked else gettext("That label was merged into another: the span has the new one.")
    )
    return answer if answer.message else replace(answer, message=message)


def _with_labels_of_today(change: Change) -> Change:
    now = history.labels_of_today(change.named)

    def of(label: int) -> int:
        return now.get(label, label)

    return replace(
        change,
        label=of(change.label),
        seen=None if change.seen is None else (change.seen[0], change.seen[1], of(change.seen[2])),
        spans=tuple(replace(wanted, label=of(wanted.label)) for wanted in change.spans),
    )


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
    raise Refused("busy", gettext("This note is being changed by other requests; try again."), status=503)


def _apply(document: Document, user: User, change: Change, blind: bool) -> Answer:
    span = _checked(document, change) if change.kind in (Kind.CREATE, Kind.RESIZE) else None
    many = [_place(document, wanted) for wanted in change.spans]
    if change.kind is not Kind.DELETE:
        keep_labels(document.project_id)
    row = hold(document, user, change, span, blind)
    effect = _effect(row, user, change, span, many)
    if effect.verb is not None:
        check_room(row.pk, effect.places, more=effect.adds)
        count_change(document, row, blind, effect.labels)
        record(
            verb=effect.verb,
            actor=user,
            project_id=document.project_id,
            document_id=document.pk,
            annotation_set_id=row.pk,
            data={"kind": change.kind.value, **effect.data},
            change_id=change.change_id,
            reverts=effect.reverts,
        )
    elsewhere = change.version is not None and change.version != row.version
    return _answer(row.pk, row.version + (effect.verb is not None), change.kind, effect, elsewhere)


def _effect(row: Locked, user: User, change: Change, span: domain.Span | None, many: Sequence[Place]) -> Effect:
    if change.kind is Kind.CREATE:
        return _create(row, target(change, span))
    if change.kind is Kind.CREATE_MANY:
        return _create_many(row, many)
    if change.kind in (Kind.UNDO, Kind.REDO):
        return _step(row, user, change)
    return _alter(row, span, change)


def _answer(pk: int, version: int, kind: Kind, effect: Effect, elsewhere: bool) -> Answer:
    """Of an event's data, made now or found in the log."""
    data = effect.data
    listed = data.get("spans")
    gone = effect.verb == Verb.SPAN_DELETED
    place = data.get("after")
    return Answer(
        version=version,
        span=_item(data["span"], *place) if place and not gone else None,
        removed=data["span"] if gone else None,
        made=[_item(*span) for span in listed or ()] if kind is Kind.CREATE_MANY else None,
        already=effect.already,
        changed_elsewhere=elsewhere,
        spans=spans_of(pk) if elsewhere or (listed is not None and kind is not Kind.CREATE_MANY) else None,
        message=effect.message,
    )


def _item(pk: int, start: int, end: int, label: int) -> SpanItem:
    return SpanItem(id=pk, start=start, end=end, label=label)


def _checked(document: Document, asked: Change | Wanted) -> domain.Span:
    """The stretch of text that is asked for, trimmed; refused where it leaves the text or isn't what the page shows."""
    try:
        return domain.checked(document.text, domain.Span(asked.start, asked.end, ""), asked.quote)
    except domain.SpanError as error:
        raise Refused(error.code, gettext("Not saved: %(error)s.") % {"error": error}) from None


def _place(document: Document, wanted: Wanted) -> Place:
    span = _checked(document, wanted)
    return span.start, span.end, wanted.label


# ── One span ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _one(span: int | None, before: Place | None, after: Place | None) -> dict[str, Any]:
    return {"span": span, "before": before, "after": after}


def _create(row: Locked, place: Place) -> Effect:
    if row.twin is not None:
        return _there_already(row.twin, place)
    made = _NEW_SPAN.run(Span(annotation_set_id=row.pk, start=place[0], end=place[1], label_id=place[2]))
    return Effect(Verb.SPAN_CREATED, _one(made.pk, None, place), labels=[place[2]])


def _there_already(twin: int, place: Place) -> Effect:
    return Effect(None, _one(twin, place, place), already=1, message="That span is there already.")


def _alter(row: Locked, span: domain.Span | None, change: Change) -> Effect:
    """Relabel, resize or delete, provided that the span still is what the page saw."""
    assert change.seen is not None  # read_change saw to it
    start, end, label = change.seen
    rows = Span.objects.filter(pk=change.span or 0, annotation_set_id=row.pk, start=start, end=end, label_id=label)
    if change.kind is Kind.DELETE:
        if not rows.delete()[0]:
            raise _changed_meanwhile()
        carried = {"confidence": row.confidence, "source": row.source}
        data = _one(change.span, change.seen, None) | {name: value for name, value in carried.items() if value}
        return Effect(Verb.SPAN_DELETED, data)
    place = target(change, span)
    if row.twin is not None:
        return _there_already(row.twin, place)
    if not rows.update(start=place[0], end=place[1], label_id=place[2]):
        raise _changed_meanwhile()
    labels = [place[2]] if change.kind is Kind.RELABEL else []
    return Effect(Verb.SPAN_CHANGED, _one(change.span, change.seen, place), labels=labels)


def _changed_meanwhile() -> Refused:
    return Refused(
        "changed", gettext("That span was changed or deleted in the meantime; nothing was overwritten."), status=409
    )


# ── Many at once, undo and redo ──────────────────────────────────────────────────────────────────────────────────────


def _create_many(row: Locked, places: Sequence[Place]) -> Effect:
    """Those of `places` that no span has yet. `already` counts the others."""
    there = {(span["start"], span["end"], span["label"]) for span in spans_of(row.pk)}
    new = [place for place in dict.fromkeys(places) if place not in there]
    already = len(places) - len(new)
    if not new:
        return Effect(None, {"spans": []}, already=already, message="All of them are there already.")
    made = Span.objects.bulk_create(
        Span(annotation_set_id=row.pk, start=start, end=end, label_id=label) for start, end, label in new
    )
    listed = [[span.pk, *place] for span, place in zip(made, new, strict=True)]
    data = {"spans": listed} | ({"already": already} if already else {})
    return Effect(Verb.SPANS_CREATED, data, labels=sorted({label for *_, label in new}), already=already)


def _step(row: Locked, user: User, change: Change) -> Effect:
    """Undo or redo, from the event log."""
    find = history.last_undoable if change.kind is Kind.UNDO else history.last_redoable
    event = find(annotation_set_id=row.pk, user=user)
    if event is None:
        undo = change.kind is Kind.UNDO
        message = gettext("There is nothing to undo.") if undo else gettext("There is nothing to redo.")
        raise Refused("nothing", message, status=409)
    done = history.take_back(annotation_set_id=row.pk, event=event)
    if done is None:
        undo = change.kind is Kind.UNDO
        message = (
            gettext(
                "The last change to undo no longer fits this note (its label or span was changed since); "
                "it was left out."
            )
            if undo
            else gettext(
                "The last change to redo no longer fits this note (its label or span was changed since); "
                "it was left out."
            )
        )
        data = {"spans": []} if "spans" in event.data else _one(event.data["span"], None, None)
        return Effect(Verb.SPAN_UNDO_SKIPPED, data, reverts=event.pk, message=message)
    data = done.data | ({"left": done.left} if done.left else {})
    return Effect(done.verb, data, reverts=event.pk, message=_left(done.verb, data))


def _left(verb: str, data: dict[str, Any]) -> str:
    """The word on spans that an undo or redo of many left alone."""
    count = data.get("left", 0)
    if not count:
        return ""
    number = len(data["spans"]) + count
    if verb == Verb.SPANS_CREATED:
        message = ngettext(
            "%(count)s of the %(total)s spans could not come back: the same is there already, or the label is gone.",
            "%(count)s of the %(total)s spans could not come back: the same is there already, or the label is gone.",
            count,
        )
    else:
        message = ngettext(
            "%(count)s of the %(total)s spans was changed or removed since; it is left as it is.",
            "%(count)s of the %(total)s spans were changed or removed since; they are left as they are.",
            count,
        )
    return message % {"count": count, "total": number}


# ── Replays and conflicts ────────────────────────────────────────────────────────────────────────────────────────────


def _replay(document: Document, user: User, change: Change) -> Answer | None:
    """The answer to a change that was made before, with the reading as it is now; None if it wasn't."""
    row = own_set(document.pk, user)
    if row is None:
        return None
    event = Event.objects.filter(annotation_set_id=row.pk, change_id=change.change_id).first()
    if event is None:
        return None
    if event.data["kind"] != change.kind:
        raise Refused("change-id", gettext("This change id was used for another change."), status=409)
    effect = Effect(event.verb, event.data, already=event.data.get("already", 0), message=_left(event.verb, event.data))
    return _answer(row.pk, row.version, change.kind, effect, elsewhere=True)


def _attach_reading(refused: Refused, document: Document, user: User) -> None:
    row = own_set(document.pk, user)
    refused.version = row.version if row else 0
    refused.state = row.state if row else AnnotationSet.State.DRAFT
    refused.spans = spans_of(row.pk) if row else []
