"""Undo and redo without limit, read from the event log, so that a reload forgets nothing.

An event of a reading is a change, an undo (it reverts a change or a redo) or a redo (it reverts an undo). To take an
event back is to make its opposite; the last one not taken back yet is the next to go.
"""

from collections.abc import Iterator
from typing import Any

from annotations.models import Event, Label, Span, User, Verb
from annotations.services.changes import Kind, Place

VERBS = [Verb.SPAN_CREATED, Verb.SPAN_CHANGED, Verb.SPAN_DELETED, Verb.SPAN_UNDO_SKIPPED]
CHUNK = 100


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


def inverse(event: Event) -> tuple[Place | None, Place | None]:
    """What taking the event back changes: from where to where, with labels as they are called now."""
    return _now(event.data["after"]), _now(event.data["before"])


def _now(place: list[int] | None) -> Place | None:
    """A place of the log; a label that was merged since stands for the one it was merged into."""
    if place is None:
        return None
    start, end, label = place
    merged_into = Label.objects.filter(pk=label).values_list("merged_into", flat=True).first()
    return start, end, merged_into or label


def carried(event: Event) -> dict[str, Any]:
    """What a span has besides its place, where the log kept it."""
    return {key: event.data[key] for key in ("confidence", "source") if key in event.data}


def take_back(*, annotation_set_id: int, event: Event) -> bool:
    """Make the opposite of the event. False, with nothing changed, where the span is no longer what the event left.

    A span that comes back has the id that it had. Inside the caller's transaction, the set's row locked.
    """
    before, after = inverse(event)
    span = event.data["span"]
    mine = Span.objects.filter(annotation_set_id=annotation_set_id)
    if after is not None and after != before and mine.filter(start=after[0], end=after[1], label_id=after[2]).exists():
        return False
    if before is None:
        assert after is not None  # an event has one of the two
        if Span.objects.filter(pk=span).exists() or not Label.objects.filter(pk=after[2]).exists():
            return False
        made = Span(pk=span, annotation_set_id=annotation_set_id, start=after[0], end=after[1], label_id=after[2])
        for field, value in carried(event).items():
            setattr(made, field, value)
        made.save(force_insert=True)
        return True
    rows = mine.filter(pk=span, start=before[0], end=before[1], label_id=before[2])
    if after is None:
        return bool(rows.delete()[0])
    return bool(rows.update(start=after[0], end=after[1], label_id=after[2]))
