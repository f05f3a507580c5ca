"""Change a person's own annotation set of a note: one change, one short transaction, one event.

Two tabs, a double click and a lost answer must neither lose nor double a span. Each change locks the set's row first
(on SQLite the whole database, by BEGIN IMMEDIATE), so that the changes of one set are made one after another. A change
id can be recorded only once (constraint `change_once`). A span is changed only if it still is what the page showed,
which the UPDATE itself checks.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Now
from django.utils.translation import gettext

from annotations.annotate.events import SPAN_CHANGED, SPAN_CREATED, SPAN_DELETED, SPANS_CREATED, SpanChange
from annotations.annotate.services.annotation_set import withdrawn
from annotations.annotate.services.history import VERBS, Effect, make_step, message_of
from annotations.core.authors import author_of
from annotations.core.bulk import insert_object
from annotations.core.changes import ChangeKind, ChangeRefused, SpanEdit, WantedSpan
from annotations.core.labels import labels_of_today
from annotations.core.services import keep_labels
from annotations.core.spans import (
    SpanItem,
    Stored,
    check_room,
    fitting_label,
    own_set,
    own_sets,
    spans_of,
    with_attribute,
)
from annotations.models import AnnotationSet, AnnotationSetState, Document, Event, Label, Span, User
from annotations.models.prepared import PreparedRead, PreparedUpdate
from annotations.text import spans as text_spans
from annotations.text.spans import LabeledBounds

TRIES = 3


@dataclass(frozen=True, slots=True)
class ChangedSpans:
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


def apply_change(*, document: Document, user: User, change: SpanEdit, blind: bool = True) -> ChangedSpans:
    """Make one change to `user`'s annotation set of `document`, whose text must be loaded.

    `blind` says whether this person sees nobody else's spans. A change is made once: the same change id again gives the
    same answer. Labels that were merged since are replaced by those that they were merged into. Raises ChangeRefused; a
    conflict (409) has the current spans.
    """
    sent = change
    for _ in range(TRIES):
        try:
            with transaction.atomic():
                answer = _apply(document, user, change, blind)
        except IntegrityError:
            # Another request made the same change, the same span or the person's first set at the same time.
            if (replayed := _replay(document, user, change)) is not None:
                return replayed
        except ChangeRefused as refused:
            renamed = _with_labels_of_today(change) if refused.code in ("label", "changed") else change
            if renamed == change:
                return _replay_refused(refused, document, user, change)
            change = renamed
        else:
            if answer.already:  # These spans may be those that the first sending made.
                answer = _replay(document, user, change) or answer
            if answer.message or change is sent or change.asked == sent.asked:
                return answer
            message = gettext("This label was merged into another one. The span got the new label.")
            return replace(answer, message=message)
    raise ChangeRefused("busy", gettext("Other requests are changing this note. Try again."), status=503)


def _with_labels_of_today(change: SpanEdit) -> SpanEdit:
    now = labels_of_today(change.named)

    def of(label: int) -> int:
        return now.get(label, label)

    start, end, label = change.seen
    spans = tuple(replace(wanted, label=of(wanted.label)) for wanted in change.spans)
    return replace(change, label=of(change.label), seen=(start, end, of(label)), spans=spans)


def _apply(document: Document, user: User, change: SpanEdit, blind: bool) -> ChangedSpans:
    kind = change.kind
    asked: Sequence[SpanEdit | WantedSpan] = change.spans
    if kind in (ChangeKind.CREATE, ChangeKind.RESIZE):
        asked = [change]
    try:
        fitting = [
            text_spans.checked(document.text, text_spans.Span(each.start, each.end, ""), each.quote) for each in asked
        ]
    except text_spans.SpanError as error:
        raise ChangeRefused(error.code, gettext("Not saved. %(error)s") % {"error": error}) from None
    many = [(span.start, span.end, each.label) for span, each in zip(fitting, asked, strict=True)]
    start, end, seen_label = change.seen if not many else (*many[0][:2], change.seen[2])
    wanted = start, end, change.label if change.label >= 0 else seen_label
    if kind is not ChangeKind.DELETE:
        keep_labels(document.project_id)
    row = _lock(document, user, change.span, wanted, blind)
    if change.exact and change.version != row.version:
        raise ChangeRefused("stale", gettext("The annotation set has another version. Nothing was saved."), status=412)
    if kind is ChangeKind.CREATE:
        effect = _create(row, wanted)
    elif kind is ChangeKind.CREATE_MANY:
        effect = _create_many(row, many)
    elif kind in (ChangeKind.UNDO, ChangeKind.REDO):
        effect = make_step(row.pk, user, redo=kind is ChangeKind.REDO)
    else:
        effect = _alter(row, change, wanted)
    if effect.verb is not None:
        check_room(row.pk, effect.written, more=effect.verb in (SPAN_CREATED, SPANS_CREATED))
        _count_change(document, row, blind, effect.labels)
        effect.verb.record(
            actor=user,
            note=document,
            annotation_set_id=row.pk,
            data=effect.data | {"kind": kind.value},
            change_id=change.change_id,
            reverts=effect.reverts,
        )
    elsewhere = change.version is not None and change.version != row.version
    return _answer(row.pk, row.version + (effect.verb is not None), kind, effect, elsewhere)


def _answer(pk: int, version: int, kind: ChangeKind, effect: Effect, elsewhere: bool) -> ChangedSpans:
    """The answer for an event's data, made now or found in the log."""
    data = effect.data
    listed = data.get("spans")
    gone = effect.verb == SPAN_DELETED
    after, one = data.get("after"), data.get("span")
    span: SpanItem | None = None
    if one and after and not gone:
        start, end, label = after
        span = SpanItem(id=one, start=start, end=end, label=label)
        if "attributes" in data:
            span["attributes"] = data["attributes"][1] or {}
    made = [SpanItem(id=pk, start=start, end=end, label=label) for pk, start, end, label in listed or ()]
    return ChangedSpans(
        version=version,
        span=span,
        removed=one if gone else None,
        made=made if kind is ChangeKind.CREATE_MANY else None,
        already=effect.already,
        changed_elsewhere=elsewhere,
        spans=spans_of(pk) if elsewhere or (listed is not None and kind is not ChangeKind.CREATE_MANY) else None,
        message=effect.message,
    )


# ── The annotation set's row ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class LockedSet:
    """The annotation set's row, locked until the transaction ends, and the columns of its spans that the change needs.

    `twin` is the id of a span that already has the wanted bounds and label. The last three are columns of the span that
    is changed: `attributes` as JSON text.
    """

    pk: int
    state: str
    version: int
    blind: bool
    twin: int | None
    attributes: str | None = None
    confidence: float | None = None
    source: str | None = None


def _locking(document: int, user: int, start: int, end: int, label: int, span: int = 0) -> "QuerySet[Any, Any]":
    """The query that locks the person's annotation set of the note. `span` is the span to change, if any."""

    def of_span(column: str, **looked_for: int) -> Subquery:
        spans = Span.objects.filter(annotation_set=OuterRef("pk"), **looked_for).order_by()
        return Subquery(spans.values(column)[:1])

    columns: list[str | Subquery] = ["pk", "state", "version", "blind"]
    columns.append(of_span("pk", start=start, end=end, label_id=label))
    if span:
        columns += [of_span(column, pk=span) for column in ("attributes", "confidence", "source")]
    return own_sets(document, User(pk=user)).select_for_update(of=("self",)).values_list(*columns)


_LOCK = PreparedRead(_locking, *[int] * 5)
_LOCK_WITH_SPAN = PreparedRead(_locking, *[int] * 6)


def _lock(document: Document, user: User, span: int, wanted: LabeledBounds, blind: bool) -> LockedSet:
    """Lock the person's annotation set, which their first change makes.

    Raises ChangeRefused (409) unless it is a draft.
    """
    query, values = (_LOCK_WITH_SPAN, (*wanted, span)) if span else (_LOCK, wanted)
    row = query.first(document.pk, user.pk, *values)
    if row is None:
        author = author_of(document.project, user)
        AnnotationSet.objects.get_or_create(document=document, author=author, defaults={"blind": blind})
        row = query.first(document.pk, user.pk, *values)
        assert row is not None  # It was made above.
    held = LockedSet(*row)
    if held.state == AnnotationSetState.SUBMITTED:
        raise ChangeRefused("submitted", gettext("This note is submitted. Reopen it to change it."), status=409)
    if held.state != AnnotationSetState.DRAFT:
        raise withdrawn()
    return held


@cache
def _counted(with_label: bool, unblind: bool) -> PreparedUpdate:
    def change(pk: int, *of_label: int) -> "tuple[QuerySet[AnnotationSet], dict[str, Any]]":
        rows = AnnotationSet.objects.filter(pk=pk)
        if of_label:
            label, project = of_label
            exists = Label.objects.filter(pk=label, label_set__project_id=project, merged_into__isnull=True)
            rows = rows.filter(Exists(exists))
        values: dict[str, Any] = {"version": F("version") + 1, "updated_at": Now()}
        return rows, values | ({"blind": False} if unblind else {})

    return PreparedUpdate(change, *[int] * (3 if with_label else 1))


def _count_change(document: Document, row: LockedSet, blind: bool, labels: Sequence[int]) -> None:
    """Add 1 to the set's version. Raises ChangeRefused (409) if the project no longer has one of the change's labels.

    `labels` are the ids of the labels that the change gives to spans; keep_labels has locked the label set.
    """
    project = document.project_id
    there = True
    if len(labels) > 1:
        known = Label.objects.filter(pk__in=labels, label_set__project_id=project, merged_into__isnull=True)
        there = known.count() == len(labels)
    statement = _counted(bool(labels), row.blind and not blind)
    if not there or not statement.run(row.pk, *((labels[0], project) if labels else ())):
        raise ChangeRefused("label", gettext("This label is no longer in the project. Reload the page."), status=409)


# ── Changes of spans ─────────────────────────────────────────────────────────────────────────────────────────────────


def _create(row: LockedSet, wanted: LabeledBounds) -> Effect:
    if row.twin is not None:
        return _exists(row.twin, wanted)
    start, end, label = wanted
    made = Span(annotation_set_id=row.pk, start=start, end=end, label_id=label)
    insert_object(made)
    data: SpanChange = {"span": made.pk, "before": None, "after": wanted}
    return Effect(SPAN_CREATED, data, labels=[label], written=[(start, end)])


def _exists(twin: int, wanted: LabeledBounds) -> Effect:
    data: SpanChange = {"span": twin, "before": wanted, "after": wanted}
    return Effect(None, data, already=1, message=gettext("This span exists already."))


def _alter(row: LockedSet, change: SpanEdit, wanted: LabeledBounds) -> Effect:
    """Relabel, resize or delete a span, or set an attribute of it.

    Raises ChangeRefused (409) unless the span still is what the page showed, not counting its attributes.
    """
    start, end, label = change.seen
    old: Stored | None = json.loads(row.attributes) if row.attributes else None
    rows = Span.objects.filter(pk=change.span, annotation_set_id=row.pk, start=start, end=end, label_id=label)
    data: SpanChange = {"span": change.span, "before": change.seen, "after": wanted}
    if change.kind is ChangeKind.DELETE:
        data["after"] = None
        if row.confidence:
            data["confidence"] = row.confidence
        if row.source:
            data["source"] = row.source
        if old:
            data["attributes"] = [old, None]
        done, effect = rows.delete()[0], Effect(SPAN_DELETED, data)
    elif change.kind is ChangeKind.ATTRIBUTE:
        kept = with_attribute(old, label, change.name, change.value)
        data |= {"after": change.seen, "attributes": [old, kept]}
        done, effect = rows.update(attributes=kept), Effect(None if kept == old else SPAN_CHANGED, data)
    elif row.twin is not None:
        return _exists(row.twin, wanted)
    else:
        relabels = change.kind is ChangeKind.RELABEL
        # A span keeps those of its attributes that its new label has.
        kept = fitting_label(old, wanted[2]) if relabels else old
        if kept != old:
            data["attributes"] = [old, kept]
        values: dict[str, Any] = {"attributes": kept} if kept != old else {}
        done = rows.update(start=wanted[0], end=wanted[1], label_id=wanted[2], **values)
        effect = Effect(
            SPAN_CHANGED, data, labels=[wanted[2]] if relabels else [], written=[] if relabels else [wanted[:2]]
        )
    if not done:
        message = gettext("This span was changed or deleted meanwhile. Your change was not saved.")
        raise ChangeRefused("changed", message, status=409)
    return effect


def _create_many(row: LockedSet, wanted: Sequence[LabeledBounds]) -> Effect:
    """Make the wanted spans that don't exist yet. `already` counts the others."""
    existing = {(span["start"], span["end"], span["label"]) for span in spans_of(row.pk)}
    new = [each for each in dict.fromkeys(wanted) if each not in existing]
    already = len(wanted) - len(new)
    if not new:
        return Effect(None, {"spans": []}, already=already, message=gettext("All these spans exist already."))
    made = Span.objects.bulk_create(
        Span(annotation_set_id=row.pk, start=start, end=end, label_id=label) for start, end, label in new
    )
    data: SpanChange = {"spans": [[span.pk, *bounds] for span, bounds in zip(made, new, strict=True)]}
    if already:
        data["already"] = already
    labels = sorted({label for *_, label in new})
    return Effect(SPANS_CREATED, data, labels=labels, written=[each[:2] for each in new], already=already)


# ── Replays and conflicts ────────────────────────────────────────────────────────────────────────────────────────────


def _replay(document: Document, user: User, change: SpanEdit) -> ChangedSpans | None:
    """The answer to a change that was made before, with the current spans; None where it wasn't made."""
    row = own_set(document.pk, user)
    if row is None:
        return None
    event = Event.objects.filter(annotation_set_id=row.pk, change_id=change.change_id).first()
    if event is None:
        return None
    if event.data["kind"] != change.kind:
        message = gettext("This change ID was already used for another change. Reload the page.")
        raise ChangeRefused("change-id", message, status=409)
    verb = next(each for each in VERBS if each == event.verb)
    message = message_of(verb, event.data)
    effect = Effect(verb, event.data, already=event.data.get("already", 0), message=message)
    return _answer(row.pk, row.version, change.kind, effect, elsewhere=True)


def _replay_refused(refused: ChangeRefused, document: Document, user: User, change: SpanEdit) -> ChangedSpans:
    """The answer to a change that is refused because it was made before. Raises `refused` for any other.

    A change that is sent again can look like a conflict: the first one may have deleted the span.
    """
    replayed = _replay(document, user, change)
    if replayed is not None:
        return replayed
    if refused.status == 409:
        row = own_set(document.pk, user)
        refused.version = row.version if row else 0
        refused.state = row.state if row else AnnotationSetState.DRAFT
        refused.spans = spans_of(row.pk) if row else []
    raise refused
