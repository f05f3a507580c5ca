"""Events of importing and exporting notes."""

from typing import NotRequired, TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb

NotesImported = TypedDict(
    "NotesImported",
    {"import": int, "format": str, "as": str, "author": int | None, "notes": int, "spans": int, "refused": int},
)


class ExportedSplit(TypedDict):
    shares: dict[str, int]
    layout: str


class NotesExported(TypedDict):
    """`set` is the kind of the `author` if there is one, else the requested set. `losses` counts what was lost."""

    set: str
    author: NotRequired[int]
    format: str
    notes: int
    spans: int
    drafts_left_out: int
    gold_version: int | None
    content_hash: str | None
    split: ExportedSplit | None
    losses: int


NOTES_IMPORTED = Verb[NotesImported]("notes.imported", _("imported notes"))
NOTES_EXPORTED = Verb[NotesExported]("notes.exported", _("exported notes"), reading=True)
