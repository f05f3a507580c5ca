"""Events of importing and exporting notes."""

from typing import NotRequired, TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.services import Verb

NotesImported = TypedDict(
    "NotesImported",
    {"import": int, "format": str, "as": str, "author": int | None, "notes": int, "spans": int, "refused": int},
)


class ExportedSplit(TypedDict):
    shares: dict[str, int]
    layout: str


class NotesExported(TypedDict):
    """`set` is the kind of the `author` if there is one, else the requested set. `losses` counts what was lost.

    `chosen_notes` counts the notes that were asked for, if not all were. `left_out` and `merged` count spans that a
    label mapping left out, or made equal to others.
    """

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
    chosen_notes: NotRequired[int]
    mapping: NotRequired[int | None]
    left_out: NotRequired[int]
    merged: NotRequired[int]


class LabelMappingChanged(TypedDict):
    """The id of the mapping, and how many labels it maps and leaves out. Its name is free text."""

    mapping: int
    mapped: int
    left_out: int


class LabelMappingId(TypedDict):
    mapping: int


NOTES_IMPORTED = Verb[NotesImported]("notes.imported", _("imported notes"))
NOTES_EXPORTED = Verb[NotesExported]("notes.exported", _("exported notes"), reading=True)
LABEL_MAPPING_ADDED = Verb[LabelMappingId]("label_mapping.added", _("added a label mapping"))
LABEL_MAPPING_CHANGED = Verb[LabelMappingChanged]("label_mapping.changed", _("changed a label mapping"))
LABEL_MAPPING_DELETED = Verb[LabelMappingId]("label_mapping.deleted", _("deleted a label mapping"))
