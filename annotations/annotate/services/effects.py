"""What a change does to the rows of a person's own spans: make, alter and delete them, undo and redo.

An undo or redo makes the opposite of an event of the log. An event of one span holds `span`, `before` and `after`; an
event of many spans lists them in `spans`, as [id, start, end, label].
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, ngettext

from annotations.annotate.events import (
    SPAN_CHANGED,
    SPAN_CREATED,
    SPAN_DELETED,
    SPAN_UNDO_SKIPPED,
    SPANS_CREATED,
    SPANS_DELETED,
    SpanChange,
)
from annotations.annotate.services.annotation_set import LockedSet
from annotations.core.bulk import insert_object
from annotations.core.changes import ChangeKind, SpanEdit, backwards, to_revert
from annotations.core.labels import labels_of_today
from annotations.core.services import Bounds, Verb
from annotations.core.spans import ChangeRefused, Stored, check_room, fitting_label, with_attribute
from annotations.models import Event, Label, Span, User
from annotations.text.spans import LabeledBounds

VERBS: list[Verb[SpanChange]] = [
    SPAN_CREATED, SPAN_CHANGED, SPAN_DELETED, SPAN_UNDO_SKIPPED, SPANS_CREATED, SPANS_DELETED
]  # fmt: skip
# The number of ids in one DELETE statement.
IDS = 500


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change did to the rows, for the event and for the answer; `verb` is None where nothing was changed.

    `data` is the event's data. `labels` are the ids of the labels that the change gave to spans, `written` the bounds
    of the spans that it made or moved. `reverts` is the id of the event that an undo or redo reverts.
    """

    verb: Verb[SpanChange] | None
    data: SpanChange
    labels: Sequence[int] = ()
    written: Sequence[tuple[int, int]] = ()
    already: int = 0
    reverts: int | None = None
    message: str = ""


def write_change(
    row: LockedSet, user: User, change: SpanEdit, wanted: LabeledBounds, many: Sequence[LabeledBounds]
) -> Effect:
    """Change the rows of spans. `wanted` is the span as it shall be, `many` all spans that the change makes.

    Call this inside the transaction that has locked the set's row. Raises ChangeRefused.
    """
    if change.kind is ChangeKind.CREATE:
        effect = _create(row, wanted)
    elif change.kind is ChangeKind.CREATE_MANY:
        effect = _create_many(row, many)
    elif change.kind in (ChangeKind.UNDO, ChangeKind.REDO):
        effect = _step(row.pk, user, redo=change.kind is ChangeKind.REDO)
    else:
        effect = _alter(row, change, wanted)
    check_room(row.pk, effect.written, more=effect.verb in (SPAN_CREATED, SPANS_CREATED))
    return effect


def logged_effect(event: Event) -> Effect:
    """What a change did whose event is in the log."""
    verb = next(each for each in VERBS if each == event.verb)
    return Effect(verb, event.data, already=event.data.get("already", 0), message=_message_of(verb, event.data))


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
    existing = set(_bounds_in(row.pk).values())
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


def _bounds_in(annotation_set_id: int) -> dict[int, LabeledBounds]:
    """Bounds and label of each span of the set, by id."""
    rows = Span.objects.filter(annotation_set_id=annotation_set_id).values_list("pk", "start", "end", "label_id")
    return {pk: (start, end, label) for pk, start, end, label in rows}


# ── Undo and redo ────────────────────────────────────────────────────────────────────────────────────────────────────


def _step(annotation_set_id: int, user: User, *, redo: bool) -> Effect:
    """Undo or redo this person's last change. Raises Refused (`nothing`, 409) without one.

    A restored span gets its old id. A label that was merged since is replaced by the label that it was merged into. If
    every span of the event was changed since, nothing is changed, and the next step goes on with the event before.
    """
    events = Event.objects.filter(annotation_set_id=annotation_set_id, actor_id=user.pk, verb__in=VERBS)
    event = to_revert(backwards(events), key="kind", redo=redo, skipped=SPAN_UNDO_SKIPPED)
    if event is None:
        message = gettext("Nothing to redo.") if redo else gettext("Nothing to undo.")
        raise ChangeRefused("nothing", message, status=409)
    many = "spans" in event.data
    effect = _several(annotation_set_id, event) if many else _one(annotation_set_id, event)
    if effect is not None:
        return effect
    message = (
        gettext("The last change can't be redone because its label or span has changed since. It was skipped.")
        if redo
        else gettext("The last change can't be undone because its label or span has changed since. It was skipped.")
    )
    nothing: SpanChange = {"spans": []} if many else {"span": event.data["span"], "before": None, "after": None}
    return Effect(SPAN_UNDO_SKIPPED, nothing, reverts=event.pk, message=message)


def _message_of(verb: str, data: SpanChange) -> str:
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


# ── One span ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _one(annotation_set_id: int, event: Event) -> Effect | None:
    logged: SpanChange = event.data
    before, after = _of_today(logged["after"]), _of_today(logged["before"])
    data: SpanChange = {"span": logged["span"], "before": before, "after": after}
    if "confidence" in logged:
        data["confidence"] = logged["confidence"]
    if "source" in logged:
        data["source"] = logged["source"]
    if "attributes" in logged:
        data["attributes"] = logged["attributes"][::-1]
    if not _move(annotation_set_id, before, after, data):
        return None
    verb: Verb[SpanChange] = SPAN_CREATED if before is None else SPAN_DELETED if after is None else SPAN_CHANGED
    moved = after is not None and (before is None or before[:2] != after[:2])
    return Effect(verb, data, written=[after[:2]] if after and moved else [], reverts=event.pk)


def _of_today(logged: Bounds | None) -> LabeledBounds | None:
    """Bounds and label as logged, with a merged label replaced."""
    if logged is None:
        return None
    start, end, label = logged
    return start, end, labels_of_today([label]).get(label, label)


def _move(annotation_set_id: int, before: LabeledBounds | None, after: LabeledBounds | None, data: SpanChange) -> bool:
    """Change the span of `data` from `before` to `after`; None stands for no span.

    False, with nothing changed, where the span isn't as in `before` or another span is as in `after` already.
    """
    span = data["span"] or 0
    mine = Span.objects.filter(annotation_set_id=annotation_set_id)
    if after is not None and after != before and mine.filter(start=after[0], end=after[1], label_id=after[2]).exists():
        return False
    changed: dict[str, Any] = {"attributes": data["attributes"][1]} if "attributes" in data else {}
    if before is None:
        assert after is not None  # Every event has one of the two.
        if Span.objects.filter(pk=span).exists() or not Label.objects.filter(pk=after[2]).exists():
            return False
        changed |= {"confidence": data.get("confidence"), "source": data.get("source", "")}
        start, end, label = after
        Span.objects.create(
            pk=span, annotation_set_id=annotation_set_id, start=start, end=end, label_id=label, **changed
        )
        return True
    rows = mine.filter(pk=span, start=before[0], end=before[1], label_id=before[2])
    if after is None:
        return bool(rows.delete()[0])
    return bool(rows.update(start=after[0], end=after[1], label_id=after[2], **changed))


# ── Many at once ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _several(annotation_set_id: int, event: Event) -> Effect | None:
    """Revert an event of many spans, but for those changed since or impossible to restore; None if none is left."""
    listed: list[list[int]] = event.data["spans"]
    today = labels_of_today([label for *_, label in listed])
    # Spans of a deleted label were deleted with it.
    spans = [(pk, (start, end, today[label])) for pk, start, end, label in listed if label in today]
    now = _bounds_in(annotation_set_id)
    verb: Verb[SpanChange] = SPANS_DELETED if event.verb == SPANS_CREATED else SPANS_CREATED
    if verb == SPANS_DELETED:
        done = [(pk, logged) for pk, logged in spans if now.get(pk) == logged]
        for first in range(0, len(done), IDS):
            Span.objects.filter(pk__in=[pk for pk, _ in done[first : first + IDS]]).delete()
    else:
        done = _free(spans, set(now.values()))
        Span.objects.bulk_create(
            Span(pk=pk, annotation_set_id=annotation_set_id, start=start, end=end, label_id=label)
            for pk, (start, end, label) in done
        )
    if not done:
        return None
    data: SpanChange = {"spans": [[pk, *bounds] for pk, bounds in done]}
    if len(done) < len(listed):
        data["left"] = len(listed) - len(done)
    written = [bounds[:2] for _, bounds in done] if verb == SPANS_CREATED else []
    return Effect(verb, data, written=written, reverts=event.pk, message=_message_of(verb, data))


def _free(spans: Sequence[tuple[int, LabeledBounds]], taken: set[LabeledBounds]) -> list[tuple[int, LabeledBounds]]:
    """Those of `spans` whose id is free and whose bounds and label no other span has."""
    ids = set(Span.objects.filter(pk__in=[pk for pk, _ in spans]).values_list("pk", flat=True))
    found = []
    for pk, wanted in spans:
        if pk not in ids and wanted not in taken:
            taken.add(wanted)  # Two spans may have become one, where their labels were merged.
            found.append((pk, wanted))
    return found
