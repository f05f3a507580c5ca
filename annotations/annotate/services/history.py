"""Undo and redo of changes to a person's own spans: make the opposite of an event of the log.

An event of one span holds `span`, `before` and `after`; an event of many spans lists them in `spans`, as
[id, start, end, label].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotations.annotate.events import (
    SPAN_CHANGED,
    SPAN_CREATED,
    SPAN_DELETED,
    SPAN_UNDO_SKIPPED,
    SPANS_CREATED,
    SPANS_DELETED,
    SpanChange,
)
from annotations.core.changes import LabeledBounds, backwards, to_revert
from annotations.core.events import Bounds, Verb
from annotations.core.labels import labels_of_today
from annotations.core.spans import spans_of
from annotations.models import Event, Label, Span, User

SEVERAL = [SPANS_CREATED, SPANS_DELETED]
VERBS: list[Verb[SpanChange]] = [
    SPAN_CREATED,
    SPAN_CHANGED,
    SPAN_DELETED,
    SPAN_UNDO_SKIPPED,
    SPANS_CREATED,
    SPANS_DELETED,
]
# The number of ids in one DELETE statement.
IDS = 500


def last_to_revert(*, annotation_set_id: int, user: User, redo: bool) -> Event | None:
    """The event that this person's next undo or redo reverts (see core.undoing)."""
    events = Event.objects.filter(annotation_set_id=annotation_set_id, actor_id=user.pk, verb__in=VERBS)
    return to_revert(backwards(events), key="kind", redo=redo, skipped=SPAN_UNDO_SKIPPED)


@dataclass(frozen=True, slots=True)
class Opposite:
    """The opposite of an event, as it was made: verb and data for its own event, in the shape of the reverted event.

    `left` counts the spans that were changed after the reverted event, and so were left alone.
    """

    verb: Verb[SpanChange]
    data: SpanChange
    left: int = 0


def revert(*, annotation_set_id: int, event: Event) -> Opposite | None:
    """Make the opposite of the event. None, with nothing changed, where every span of the event was changed since.

    A restored span gets its old id. A label that was merged since is replaced by the label that it was merged into.
    Call this inside a transaction that has locked the set's row.
    """
    return (_several if event.verb in SEVERAL else _one)(annotation_set_id, event)


# ── One span ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _one(annotation_set_id: int, event: Event) -> Opposite | None:
    data: SpanChange = event.data
    before, after, span = _now(data["after"]), _now(data["before"]), data["span"]
    assert span is not None  # Every event of one span has its id.
    carried: SpanChange = {}
    if "confidence" in data:
        carried["confidence"] = data["confidence"]
    if "source" in data:
        carried["source"] = data["source"]
    if "attributes" in data:
        carried["attributes"] = data["attributes"][::-1]
    if not _moved(annotation_set_id, span, before, after, carried):
        return None
    verb: Verb[SpanChange] = SPAN_CREATED if before is None else SPAN_DELETED if after is None else SPAN_CHANGED
    return Opposite(verb, carried | {"span": span, "before": before, "after": after})


def _now(logged: Bounds | None) -> LabeledBounds | None:
    """Bounds and label as logged, with a merged label replaced."""
    if logged is None:
        return None
    start, end, label = logged
    return start, end, labels_of_today([label]).get(label, label)


def _moved(
    annotation_set_id: int, span: int, before: LabeledBounds | None, after: LabeledBounds | None, carried: SpanChange
) -> bool:
    """Change a span from `before` to `after`; None stands for no span.

    False, with nothing changed, where the span isn't as in `before` or another span is as in `after` already.
    """
    mine = Span.objects.filter(annotation_set_id=annotation_set_id)
    if after is not None and after != before and mine.filter(start=after[0], end=after[1], label_id=after[2]).exists():
        return False
    if before is None:
        assert after is not None  # Every event has one of the two.
        if Span.objects.filter(pk=span).exists() or not Label.objects.filter(pk=after[2]).exists():
            return False
        made = Span(pk=span, annotation_set_id=annotation_set_id, start=after[0], end=after[1], label_id=after[2])
        made.confidence = carried.get("confidence")
        made.source = carried.get("source", "")
        made.attributes = carried["attributes"][1] if "attributes" in carried else None
        made.save(force_insert=True)
        return True
    rows = mine.filter(pk=span, start=before[0], end=before[1], label_id=before[2])
    if after is None:
        return bool(rows.delete()[0])
    changed: dict[str, Any] = {"attributes": carried["attributes"][1]} if "attributes" in carried else {}
    return bool(rows.update(start=after[0], end=after[1], label_id=after[2], **changed))


# ── Many at once ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _several(annotation_set_id: int, event: Event) -> Opposite | None:
    """Revert an event of many spans, but for those changed since or impossible to restore; None if none is left."""
    listed: list[list[int]] = event.data["spans"]
    today = labels_of_today([label for *_, label in listed])
    # Spans of a deleted label were deleted with it.
    spans = [(pk, (start, end, today[label])) for pk, start, end, label in listed if label in today]
    now = {span["id"]: (span["start"], span["end"], span["label"]) for span in spans_of(annotation_set_id)}
    if event.verb == SPANS_CREATED:
        done = [(pk, logged) for pk, logged in spans if now.get(pk) == logged]
        for first in range(0, len(done), IDS):
            Span.objects.filter(pk__in=[pk for pk, _ in done[first : first + IDS]]).delete()
        verb: Verb[SpanChange] = SPANS_DELETED
    else:
        done = _free(spans, set(now.values()))
        Span.objects.bulk_create(
            Span(pk=pk, annotation_set_id=annotation_set_id, start=start, end=end, label_id=label)
            for pk, (start, end, label) in done
        )
        verb = SPANS_CREATED
    if not done:
        return None
    return Opposite(verb, {"spans": [[pk, *bounds] for pk, bounds in done]}, len(listed) - len(done))


def _free(spans: Sequence[tuple[int, LabeledBounds]], taken: set[LabeledBounds]) -> list[tuple[int, LabeledBounds]]:
    """Those of `spans` whose id is free and whose bounds and label no other span has."""
    ids = set(Span.objects.filter(pk__in=[pk for pk, _ in spans]).values_list("pk", flat=True))
    found = []
    for pk, wanted in spans:
        if pk not in ids and wanted not in taken:
            taken.add(wanted)  # Two spans may have become one, where their labels were merged.
            found.append((pk, wanted))
    return found
