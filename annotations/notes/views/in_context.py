"""Spans of notes in their sentences, on pages. Showing them counts as reading the note."""

from collections.abc import Sequence
from typing import Any

from annotations.core.access import Access
from annotations.core.events import record_reads
from annotations.notes.selectors.in_context import Entry, LabelLook, entries, label_looks


def shown_in_context(
    access: Access, rows: Sequence[Any], what: str, looks: dict[str, LabelLook] | None = None
) -> list[Entry]:
    """Entries of the rows (see `selectors.in_context.entries`). Records each of their notes as read.

    `what` is the kind of page, for the event. `looks` replaces the looks of the project's labels.
    """
    shown = entries(rows, label_looks(access.project) if looks is None else looks)
    notes = (entry.note for entry in shown)
    record_reads(actor=access.user, project_id=access.project.pk, notes=notes, what=what)
    return shown
