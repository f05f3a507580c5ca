"""Unlimited undo and redo from the event log, so that they survive a reload of the page.

Among one person's events on one annotation set, each is an act, an undo (of an act or a redo) or a redo (of an undo).
This module finds the next event to undo or redo; each feature knows how to reverse its own events.
"""

from collections.abc import Iterable, Iterator

from django.db.models import QuerySet

from annotations.models import Event

CHUNK = 100
UNDO, REDO = "undo", "redo"


def backwards(events: "QuerySet[Event]") -> Iterator[Event]:
    """Yield events, newest first, in chunks: the event to undo is usually among the newest."""
    rows = events.order_by("-id")
    last = None
    while True:
        chunk = list(rows.filter(pk__lt=last)[:CHUNK] if last else rows[:CHUNK])
        yield from chunk
        if len(chunk) < CHUNK:
            return
        last = chunk[-1].pk


def to_revert(events: Iterable[Event], *, key: str, redo: bool, skipped: str = "") -> Event | None:
    """Return the last act or redo that was not undone; with `redo`, the last undo that was not redone.

    After a new act there is nothing to redo. `events` come newest first; `key` is the entry of their data that says
    “undo”, “redo” or which act it was. An event with the verb `skipped` is an undo or redo that changed nothing.
    """
    reverted: set[int | None] = set()
    for event in events:
        step = event.data.get(key)
        if step == (REDO if redo else UNDO):
            reverted.add(event.reverts)
        elif redo and step != UNDO:
            return None
        # A skipped undo or redo counts as made, but there is nothing to reverse.
        elif event.verb != skipped and event.pk not in reverted:
            return event
    return None
