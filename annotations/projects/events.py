"""Events of projects, their labels and guidelines, and of assigning notes."""

from typing import NotRequired, TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class ProjectCreated(TypedDict):
    slug: str
    label_set: str


class ProjectChanged(TypedDict):
    fields: list[str]


class GuidelinesChanged(TypedDict):
    version: int
    length: int


class LabelAdded(TypedDict):
    label: str


class LabelChanged(LabelAdded):
    """`before` and `after` by field. Of a description, which is free text, only `fields` says that it changed."""

    fields: list[str]
    before: NotRequired[dict[str, str]]
    after: NotRequired[dict[str, str]]


class LabelMerged(TypedDict):
    source: str
    target: str
    spans: int
    notes: int
    already_there: int


class LabelDeleted(TypedDict):
    label: str
    id: int


class NotesAssigned(TypedDict, total=False):
    """Notes assigned to a person (`user`), or by the project's rule (`rule`)."""

    user: str
    rule: bool
    notes: int
    reopened: int


class NotesReleased(TypedDict):
    """Open notes of an annotator (`user`) who did nothing for `days`."""

    user: str
    notes: int
    days: int


PROJECT_CREATED = Verb[ProjectCreated]("project.created", _("created the project"))
PROJECT_CHANGED = Verb[ProjectChanged]("project.changed", _("changed the settings"))
GUIDELINES_CHANGED = Verb[GuidelinesChanged]("guidelines.changed", _("changed the guidelines"))
LABEL_CHANGED = Verb[LabelChanged]("label.changed", _("changed a label"))
LABEL_ADDED = Verb[LabelAdded]("label.added", _("added a label"))
LABEL_MERGED = Verb[LabelMerged]("label.merged", _("merged a label"))
LABEL_DELETED = Verb[LabelDeleted]("label.deleted", _("deleted an unused label"))
NOTES_ASSIGNED = Verb[NotesAssigned]("notes.assigned", _("assigned notes"))
NOTES_RELEASED = Verb[NotesReleased]("notes.released", _("released notes"))
