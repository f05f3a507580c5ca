"""Change a person's own annotation set of a note: one change, one short transaction, one event.

Two tabs, a double click and a lost answer must neither lose nor double a span. Each change locks the set's row first
(see services.locking). A change id can be recorded only once (constraint `change_once`). A span is changed only if it
still is what the page showed, which the UPDATE itself checks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext, ngettext

from annotations.annotate.events import (
    SPAN_CHANGED,
    SPAN_CREATED,
    SPAN_DELETED,
    SPAN_UNDO_SKIPPED,
    SPANS_CREATED,
    SpanChange,
)
from annotations.annotate.services import history
from annotations.annotate.services.locking import Locked, count_change, hold, target
from annotations.core.bulk import insert_returning
from annotations.core.changes import ChangeKind, LabeledBounds, Refused, SpanEdit, WantedSpan, check_room
from annotations.core.errors import ServiceError
from annotations.core.events import Verb
from annotations.core.labels import labels_of_today
from annotations.core.locks import keep_labels
from annotations.core.spans import SpanItem, fitting_label, own_set, spans_of, with_attribute
from annotations.models import AnnotationSetState, Document, Event, Span, User
from annotations.text import spans as domain

TRIES = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a change. `span` is the span after the change; `removed` the id of a deleted span.

    After a change of many spans, `made` are the new spans, and `already` counts the wanted spans that existed already.
    `spans` are all spans of the set, where the page can't know them: another tab changed the set before this change,
    or an undo or redo changed many spans.
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
    """What a change did to the rows, for the event and for the answer; `verb` is None where nothing was changed.

    `data` is the event's data, in one of the two shapes that services.history reads. `labels` are the ids of the labels
    that the change gave to spans.
    """

    verb: Verb[SpanChange] | None
    data: SpanChange
    labels: Sequence[int] = ()
    already: int = 0
    reverts: int | None = None
    message: str = ""

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """Start and end of each span that was made or moved; deleted and relabeled spans don't count."""
        if self.verb == SPANS_CREATED:
            return [(start, end) for _, start, end, _ in self.data["spans"]]
        before, after = self.data.get("before"), self.data.get("after")
        if after is None or (before is not None and tuple(before[:2]) == tuple(after[:2])):
            return []
        return [(after[0], after[1])]

    @property
    def adds(self) -> bool:
        """Whether the change added spans."""
        return self.verb in (SPAN_CREATED, SPANS_CREATED)


def apply_change(*, document: Document, user: User, change: SpanEdit, blind: bool = True) -> Answer:
    """Make one change to `user`'s annotation set of `document`, whose text must be loaded.

    `blind` says whether this person sees nobody else's spans. A change is made once: the same change id again gives the
    same answer. Raises Refused; a conflict (409) has the current spans.
    """
    try:
        answer = _with_merged_labels(document, user, change, blind)
    except Refused as refused:
        # A change that is sent again can look like a conflict: the first one may have deleted the span.
        replayed = _replay(document, user, change)
        if replayed is not None:
            return replayed
        if refused.status == 409:
            _attach_annotation_set(refused, document, user)
        raise
    # The spans that exist already may be those that the first sending made.
    return (_replay(document, user, change) or answer) if answer.already else answer


def _with_merged_labels(document: Document, user: User, change: SpanEdit, blind: bool) -> Answer:
    """Make the change; where it names labels that were merged since, with the labels that they were merged into."""
    try:
        return _once(document, user, change, blind)
    except Refused as refused:
        if refused.code not in ("label", "changed"):
            raise
        renamed = _replace_labels(change)
        if renamed == change:
            raise
    answer = _once(document, user, renamed, blind)
    message = (
        ""
        if renamed.asked == change.asked
        else gettext("This label was merged into another one. The span got the new label.")
    )
    return answer if answer.message else replace(answer, message=message)


def _replace_labels(change: SpanEdit) -> SpanEdit:
    now = labels_of_today(change.named)

    def of(label: int) -> int:
        return now.get(label, label)

    return replace(
        change,
        label=of(change.label),
        seen=None if change.seen is None else (change.seen[0], change.seen[1], of(change.seen[2])),
        spans=tuple(replace(wanted, label=of(wanted.label)) for wanted in change.spans),
    )


def _once(document: Document, user: User, change: SpanEdit, blind: bool) -> Answer:
    for _ in range(TRIES):
        try:
            with transaction.atomic():
                return _apply(document, user, change, blind)
        except IntegrityError:
            # Another request made the same change, the same span or the person's first set at the same time.
            answer = _replay(document, user, change)
            if answer is not None:
                return answer
    raise Refused("busy", gettext("Other requests are changing this note. Try again."), status=503)


def _apply(document: Document, user: User, change: SpanEdit, blind: bool) -> Answer:
    span = _checked(document, change) if change.kind in (ChangeKind.CREATE, ChangeKind.RESIZE) else None
    many = [_bounds(document, wanted) for wanted in change.spans]
    if change.kind is not ChangeKind.DELETE:
        keep_labels(document.project_id)
    row = hold(document, user, change, span, blind)
    if change.exact and change.version != row.version:
        raise Refused("stale", gettext("The annotation set has another version. Nothing was saved."), status=412)
    effect = _effect(row, user, change, span, many)
    if effect.verb is not None:
        check_room(row.pk, effect.bounds, more=effect.adds)
        count_change(document, row, blind, effect.labels)
        effect.verb.record(
            actor=user,
            project_id=document.project_id,
            document_id=document.pk,
            annotation_set_id=row.pk,
            data=effect.data | {"kind": change.kind.value},
            change_id=change.change_id,
            reverts=effect.reverts,
        )
    elsewhere = change.version is not None and change.version != row.version
    return _answer(row.pk, row.version + (effect.verb is not None), change.kind, effect, elsewhere)


def _effect(
    row: Locked, user: User, change: SpanEdit, span: domain.Span | None, many: Sequence[LabeledBounds]
) -> Effect:
    if change.kind is ChangeKind.CREATE:
        return _create(row, target(change, span))
    if change.kind is ChangeKind.CREATE_MANY:
        return _create_many(row, many)
    if change.kind in (ChangeKind.UNDO, ChangeKind.REDO):
        return _step(row, user, change)
    return _alter(row, span, change)


def _answer(pk: int, version: int, kind: ChangeKind, effect: Effect, elsewhere: bool) -> Answer:
    """The answer for an event's data, made now or found in the log."""
    data = effect.data
    listed = data.get("spans")
    gone = effect.verb == SPAN_DELETED
    after, one = data.get("after"), data.get("span")
    span = _item(one, *after) if one and after and not gone else None
    if span is not None and "attributes" in data:
        span["attributes"] = data["attributes"][1] or {}
    return Answer(
        version=version,
        span=span,
        removed=one if gone else None,
        made=[_item(*span) for span in listed or ()] if kind is ChangeKind.CREATE_MANY else None,
        already=effect.already,
        changed_elsewhere=elsewhere,
        spans=spans_of(pk) if elsewhere or (listed is not None and kind is not ChangeKind.CREATE_MANY) else None,
        message=effect.message,
    )


def _item(pk: int, start: int, end: int, label: int) -> SpanItem:
    return SpanItem(id=pk, start=start, end=end, label=label)


def _checked(document: Document, asked: SpanEdit | WantedSpan) -> domain.Span:
    """The wanted bounds, trimmed. Raises Refused where they leave the text or `quote` isn't the text there."""
    try:
        return domain.checked(document.text, domain.Span(asked.start, asked.end, ""), asked.quote)
    except domain.SpanError as error:
        raise Refused(error.code, gettext("Not saved. %(error)s") % {"error": error}) from None


def _bounds(document: Document, wanted: WantedSpan) -> LabeledBounds:
    span = _checked(document, wanted)
    return span.start, span.end, wanted.label


# ── One span ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _one(span: int | None, before: LabeledBounds | None, after: LabeledBounds | None) -> SpanChange:
    return {"span": span, "before": before, "after": after}


def _create(row: Locked, wanted: LabeledBounds) -> Effect:
    if row.twin is not None:
        return _exists(row.twin, wanted)
    start, end, label = wanted
    [pk] = insert_returning(Span, ("annotation_set_id", "start", "end", "label_id"), [(row.pk, start, end, label)])
    return Effect(SPAN_CREATED, _one(pk, None, wanted), labels=[label])


def _exists(twin: int, wanted: LabeledBounds) -> Effect:
    return Effect(None, _one(twin, wanted, wanted), already=1, message=gettext("This span exists already."))


def _alter(row: Locked, span: domain.Span | None, change: SpanEdit) -> Effect:
    """Relabel, resize or delete a span, or set an attribute of it.

    Raises Refused (409) unless the span still is what the page showed, not counting its attributes.
    """
    assert change.seen is not None  # read_change requires `seen`.
    start, end, label = change.seen
    rows = Span.objects.filter(pk=change.span or 0, annotation_set_id=row.pk, start=start, end=end, label_id=label)
    if change.kind is ChangeKind.DELETE:
        if not rows.delete()[0]:
            raise _changed_meanwhile()
        data = _one(change.span, change.seen, None)
        if row.confidence:
            data["confidence"] = row.confidence
        if row.source:
            data["source"] = row.source
        if row.attributes:
            data["attributes"] = [row.attributes, None]
        return Effect(SPAN_DELETED, data)
    if change.kind is ChangeKind.ATTRIBUTE:
        return _set_attribute(row, rows, change)
    wanted = target(change, span)
    if row.twin is not None:
        return _exists(row.twin, wanted)
    start, end, label = wanted
    # A span keeps those of its attributes that its new label has.
    kept = fitting_label(row.attributes, label)
    changed: dict[str, Any] = {} if kept == row.attributes else {"attributes": kept}
    if not rows.update(start=start, end=end, label_id=label, **changed):
        raise _changed_meanwhile()
    data = _one(change.span, change.seen, wanted)
    if changed:
        data["attributes"] = [row.attributes, kept]
    labels = [label] if change.kind is ChangeKind.RELABEL else []
    return Effect(SPAN_CHANGED, data, labels=labels)


def _set_attribute(row: Locked, rows: "QuerySet[Span]", change: SpanEdit) -> Effect:
    """Set one attribute of a span; the value None removes it. Only values that the label has can be set."""
    assert change.seen is not None  # read_change requires `seen`.
    try:
        after = with_attribute(row.attributes, change.seen[2], change.name, change.value)
    except ServiceError as error:
        raise Refused(error.code, str(error), status=409) from None
    if not rows.update(attributes=after):
        raise _changed_meanwhile()
    changed = _one(change.span, change.seen, change.seen)
    changed["attributes"] = [row.attributes, after]
    return Effect(None if after == row.attributes else SPAN_CHANGED, changed)


def _changed_meanwhile() -> Refused:
    return Refused(
        "changed", gettext("This span was changed or deleted meanwhile. Your change was not saved."), status=409
    )


# ── Many at once, undo and redo ──────────────────────────────────────────────────────────────────────────────────────


def _create_many(row: Locked, wanted: Sequence[LabeledBounds]) -> Effect:
    """Make the wanted spans that don't exist yet. `already` counts the others."""
    existing = {(span["start"], span["end"], span["label"]) for span in spans_of(row.pk)}
    new = [each for each in dict.fromkeys(wanted) if each not in existing]
    already = len(wanted) - len(new)
    if not new:
        return Effect(None, {"spans": []}, already=already, message=gettext("All these spans exist already."))
    made = Span.objects.bulk_create(
        Span(annotation_set_id=row.pk, start=start, end=end, label_id=label) for start, end, label in new
    )
    listed = [[span.pk, *bounds] for span, bounds in zip(made, new, strict=True)]
    data: SpanChange = {"spans": listed}
    if already:
        data["already"] = already
    return Effect(SPANS_CREATED, data, labels=sorted({label for *_, label in new}), already=already)


def _step(row: Locked, user: User, change: SpanEdit) -> Effect:
    """Undo or redo a change of the event log."""
    event = history.last_to_revert(annotation_set_id=row.pk, user=user, redo=change.kind is ChangeKind.REDO)
    if event is None:
        undo = change.kind is ChangeKind.UNDO
        message = gettext("Nothing to undo.") if undo else gettext("Nothing to redo.")
        raise Refused("nothing", message, status=409)
    done = history.revert(annotation_set_id=row.pk, event=event)
    if done is None:
        undo = change.kind is ChangeKind.UNDO
        message = (
            gettext("The last change can't be undone because its label or span has changed since. It was skipped.")
            if undo
            else gettext("The last change can't be redone because its label or span has changed since. It was skipped.")
        )
        nothing: SpanChange = {"spans": []} if "spans" in event.data else _one(event.data["span"], None, None)
        return Effect(SPAN_UNDO_SKIPPED, nothing, reverts=event.pk, message=message)
    data = done.data
    if done.left:
        data = data | {"left": done.left}
    return Effect(done.verb, data, reverts=event.pk, message=_left(done.verb, data))


def _left(verb: str, data: SpanChange) -> str:
    """The message on spans that an undo or redo of many spans left alone; empty where there are none."""
    count = data.get("left", 0)
    if not count:
        return ""
    number = len(data["spans"]) + count
    if verb == SPANS_CREATED:
        message = ngettext(
            "%(count)s of the %(total)s spans could not be restored, because it already exists or its label was "
            "deleted.",
            "%(count)s of the %(total)s spans could not be restored, because they already exist or their label was "
            "deleted.",
            count,
        )
    else:
        message = ngettext(
            "%(count)s of the %(total)s spans was changed or removed since and stays as it is.",
            "%(count)s of the %(total)s spans were changed or removed since and stay as they are.",
            count,
        )
    return message % {"count": count, "total": number}


# ── Replays and conflicts ────────────────────────────────────────────────────────────────────────────────────────────


def _replay(document: Document, user: User, change: SpanEdit) -> Answer | None:
    """The answer to a change that was made before, with the current spans; None where it wasn't made."""
    row = own_set(document.pk, user)
    if row is None:
        return None
    event = Event.objects.filter(annotation_set_id=row.pk, change_id=change.change_id).first()
    if event is None:
        return None
    if event.data["kind"] != change.kind:
        raise Refused(
            "change-id", gettext("This change ID was already used for another change. Reload the page."), status=409
        )
    verb = next(each for each in history.VERBS if each == event.verb)
    effect = Effect(verb, event.data, already=event.data.get("already", 0), message=_left(event.verb, event.data))
    return _answer(row.pk, row.version, change.kind, effect, elsewhere=True)


def _attach_annotation_set(refused: Refused, document: Document, user: User) -> None:
    row = own_set(document.pk, user)
    refused.version = row.version if row else 0
    refused.state = row.state if row else AnnotationSetState.DRAFT
    refused.spans = spans_of(row.pk) if row else []
