"""Undo and redo without limit, read from the event log, so that a reload forgets nothing.

An event of a reading is a change, an undo (it reverts a change or a redo) or a redo (it reverts an undo). To take an
event back is to make its opposite; the last one not taken back yet is the next to go. What an event of one span did is
in `span`, `before` and `after`; one of many spans lists them in `spans`, as [id, start, end, label].
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotations.core.changes import Kind, Place
from annotations.core.spans import spans_of
from annotations.models import Event, Label, Span, User, Verb

SEVERAL = [Verb.SPANS_CREATED, Verb.SPANS_DELETED]
VERBS = [Verb.SPAN_CREATED, Verb.SPAN_CHANGED, Verb.SPAN_DELETED, Verb.SPAN_UNDO_SKIPPED, *SEVERAL]
CHUNK = 100
# How many ids one statement names.
IDS = 500


def last_undoable(*, annotation_set_id: int, user: User) -> Event | None:
    """This person's last change or redo that no undo took back."""
    taken_back = set()
    for event in _backwards(annotation_set_id, user):
        kind = event.data.get("kind")
        if kind == Kind.UNDO:
            taken_back.add(event.reverts)
        elif event.verb != Verb.SPAN_UNDO_SKIPPED and event.pk not in taken_back:
            return event
    return None


def last_redoable(*, annotation_set_id: int, user: User) -> Event | None:
    """This person's last undo that no redo took back, unless something else was changed after it."""
    taken_back = set()
    for event in _backwards(annotation_set_id, user):
        kind = event.data.get("kind")
        if kind == Kind.REDO:
            taken_back.add(event.reverts)
        elif kind != Kind.UNDO:
            return None
        elif event.verb != Verb.SPAN_UNDO_SKIPPED and event.pk not in taken_back:
            return event
    return None


def _backwards(annotation_set_id: int, user: User) -> Iterator[Event]:
    rows = Event.objects.filter(annotation_set_id=annotation_set_id, actor_id=user.pk, verb__in=VERBS).order_by("-id")
    last = None
    while True:
        chunk = list(rows.filter(pk__lt=last)[:CHUNK] if last else rows[:CHUNK])
        yield from chunk
        if len(chunk) < CHUNK:
            return
        last = chunk[-1].pk


@dataclass(frozen=True, slots=True)
class Opposite:
    """What taking an event back did: the verb, and what its own event says, in the shape of the one taken back.

    `left` counts the spans of many that no longer were what the event left, and so stay as they are.
    """

    verb: Verb
    data: dict[str, Any] = field(default_factory=dict)
    left: int = 0


def take_back(*, annotation_set_id: int, event: Event) -> Opposite | None:
    """Make the opposite of the event. None, with nothing changed, where nothing is as the event left it.

    A span that comes back has the id that it had. Labels are those of today: one that was merged since stands for the
    one that it was merged into. Inside the caller's transaction, the set's row locked.
    """
    return (_several if event.verb in SEVERAL else _one)(annotation_set_id, event)


# ── One span ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _one(annotation_set_id: int, event: Event) -> Opposite | None:
    before, after = _now(event.data["after"]), _now(event.data["before"])
    carried = {key: event.data[key] for key in ("confidence", "source") if key in event.data}
    span = event.data["span"]
    if not _moved(annotation_set_id, span, before, after, carried):
        return None
    verb = Verb.SPAN_CREATED if before is None else Verb.SPAN_DELETED if after is None else Verb.SPAN_CHANGED
    return Opposite(verb, {"span": span, "before": before, "after": after, **carried})


def _now(place: list[int] | None) -> Place | None:
    """A place of the log, with its label of today."""
    if place is None:
        return None
    start, end, label = place
    return start, end, labels_of_today([label]).get(label, label)


def labels_of_today(labels: Sequence[int]) -> dict[int, int]:
    """By the label of the log, the label that it is now; one that is gone is missing."""
    rows = Label.objects.filter(pk__in=set(labels)).values_list("pk", "merged_into")
    return {pk: merged_into or pk for pk, merged_into in rows}


def _moved(
    annotation_set_id: int, span: int, before: Place | None, after: Place | None, carried: dict[str, Any]
) -> bool:
    """Move a span from one place to another. False, with nothing changed, where it isn't there or where one is."""
    mine = Span.objects.filter(annotation_set_id=annotation_set_id)
    if after is not None and after != before and mine.filter(start=after[0], end=after[1], label_id=after[2]).exists():
        return False
    if before is None:
        assert after is not None  # an event has one of the two
        if Span.objects.filter(pk=span).exists() or not Label.objects.filter(pk=after[2]).exists():
            return False
        made = Span(pk=span, annotation_set_id=annotation_set_id, start=after[0], end=after[1], label_id=after[2])
        for field_name, value in carried.items():
            setattr(made, field_name, value)
        made.save(force_insert=True)
        return True
    rows = mine.filter(pk=span, start=before[0], end=before[1], label_id=before[2])
    if after is None:
        return bool(rows.delete()[0])
    return bool(rows.update(start=after[0], end=after[1], label_id=after[2]))


# ── Many at once ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _several(annotation_set_id: int, event: Event) -> Opposite | None:
    """Spans that were changed since, or that can't come back, are left out; None where all of them are."""
    listed: list[list[int]] = event.data["spans"]
    today = labels_of_today([label for *_, label in listed])
    # A label that is gone is in no span.
    spans = [(pk, (start, end, today[label])) for pk, start, end, label in listed if label in today]
    now = {span["id"]: (span["start"], span["end"], span["label"]) for span in spans_of(annotation_set_id)}
    if event.verb == Verb.SPANS_CREATED:
        done = [(pk, place) for pk, place in spans if now.get(pk) == place]
        for at in range(0, len(done), IDS):
            Span.objects.filter(pk__in=[pk for pk, _ in done[at : at + IDS]]).delete()
        verb = Verb.SPANS_DELETED
    else:
        done = _free(spans, set(now.values()))
        Span.objects.bulk_create(
            Span(pk=pk, annotation_set_id=annotation_set_id, start=start, end=end, label_id=label)
            for pk, (start, end, label) in done
        )
        verb = Verb.SPANS_CREATED
    if not done:
        return None
    return Opposite(verb, {"spans": [[pk, *place] for pk, place in done]}, len(listed) - len(done))


def _free(spans: Sequence[tuple[int, Place]], taken: set[Place]) -> list[tuple[int, Place]]:
    """Those whose id and whose place nobody has."""
    ids = set(Span.objects.filter(pk__in=[pk for pk, _ in spans]).values_list("pk", flat=True))
    found = []
    for pk, place in spans:
        if pk not in ids and place not in taken:
            taken.add(place)  # two labels that became one
            found.append((pk, place))
    return found
