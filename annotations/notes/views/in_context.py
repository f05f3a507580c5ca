"""Places of notes on a page, in their sentences: whoever is shown them has read something of the note."""

from collections.abc import Sequence
from typing import Any

from annotations.core.access import Access
from annotations.core.events import record
from annotations.models import Verb
from annotations.notes.selectors.in_context import Entry, LabelLook, entries, label_looks


def shown_in_context(
    access: Access, rows: Sequence[Any], what: str, looks: dict[str, LabelLook] | None = None
) -> list[Entry]:
    """The rows (selectors.in_context.entries) as a page shows them. Each of their notes is recorded as read.

    `what` is the kind of page, for the record; `looks`: of the labels, where they aren't the project's own.
    """
    shown = entries(rows, label_looks(access.project) if looks is None else looks)
    for note in {entry.note for entry in shown}:
        record(
            verb=Verb.NOTE_READ,
            actor=access.user,
            project_id=access.project.pk,
            document_id=note,
            data={"what": what},
        )
    return shown
