"""Events of projects, their labels and guidelines, and of assigning notes."""

from typing import NotRequired

from django.utils.translation import gettext_lazy as _
from typing_extensions import TypedDict

from annotations.core.services import NoData, Verb


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


class LabelMerge(TypedDict):
    """What merging `source` into `target` changes. Spans that are `already_there` with the other label are deleted."""

    source: str
    target: str
    spans: int
    notes: int
    already_there: int


class LabelDeleted(LabelAdded):
    id: int


class CategoryAdded(TypedDict):
    category: str


class CategoryChanged(CategoryAdded):
    """`before` and `after` by field: the name, and the color as its number from 0 to 11."""

    fields: list[str]
    before: dict[str, str | int]
    after: dict[str, str | int]


class CategoryMoved(CategoryAdded):
    """Positions in the list, counted from 1."""

    before: int
    after: int


class LabelMoved(LabelAdded):
    """Positions in the label's category, counted from 1."""

    before: int
    after: int


class CategoryDeleted(CategoryAdded):
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
PROJECT_ARCHIVED = Verb[NoData]("project.archived", _("archived the project"))
PROJECT_RESTORED = Verb[NoData]("project.restored", _("restored the project from the archive"))
GUIDELINES_CHANGED = Verb[GuidelinesChanged]("guidelines.changed", _("changed the guidelines"))
LABEL_CHANGED = Verb[LabelChanged]("label.changed", _("changed a label"))
LABEL_ADDED = Verb[LabelAdded]("label.added", _("added a label"))
LABEL_MERGED = Verb[LabelMerge]("label.merged", _("merged a label"))
LABEL_DELETED = Verb[LabelDeleted]("label.deleted", _("deleted an unused label"))
LABEL_MOVED = Verb[LabelMoved]("label.moved", _("moved a label"))
CATEGORY_ADDED = Verb[CategoryAdded]("category.added", _("added a category"))
CATEGORY_CHANGED = Verb[CategoryChanged]("category.changed", _("changed a category"))
CATEGORY_MOVED = Verb[CategoryMoved]("category.moved", _("moved a category"))
CATEGORY_DELETED = Verb[CategoryDeleted]("category.deleted", _("deleted an empty category"))
NOTES_ASSIGNED = Verb[NotesAssigned]("notes.assigned", _("assigned notes"))
NOTES_RELEASED = Verb[NotesReleased]("notes.released", _("released notes"))


# Events of members.


class MemberRole(TypedDict):
    user: str
    role: str


class MemberRemoved(TypedDict):
    user: str
    open_notes: int
    drafts: int
    handed_over_to: str | None
    handed_over: int


class MemberByGroup(MemberRole):
    """`provider` is the id of the provider whose group gives or gave the role."""

    provider: str


class ResetLinkMade(TypedDict):
    user: str


MEMBER_ADDED = Verb[MemberRole]("member.added", _("added a member"))
MEMBER_CHANGED = Verb[MemberRole]("member.changed", _("changed a member's role"))
MEMBER_REMOVED = Verb[MemberRemoved]("member.removed", _("removed a member"))
MEMBER_BY_GROUP = Verb[MemberByGroup]("member.by_group", _("got a role from a group"))
# Also in an archived project: nobody keeps access because a project is archived.
MEMBER_LEFT_GROUP = Verb[MemberByGroup]("member.left_group", _("lost the role of a group"), reading=True)
RESET_LINK_MADE = Verb[ResetLinkMade]("member.reset_link", _("created a password link"))


# Events of accounts that belong to a person at a provider, and of the roles of groups.


class AtProvider(TypedDict):
    user: str
    provider: str


class RoleOfGroup(TypedDict):
    """`group` is the id of the row: names of groups are text that people typed."""

    group: int
    provider: str
    role: str


ACCOUNT_LINKED = Verb[AtProvider]("account.linked", _("connected an account with a provider"))
ACCOUNT_LEFT = Verb[AtProvider](
    "account.left", _("was deactivated, because the provider no longer knows them"), reading=True
)
ACCOUNT_BACK = Verb[AtProvider]("account.back", _("signed in at the provider again and was reactivated"), reading=True)
ACCOUNT_RESTORED = Verb[AtProvider]("account.restored", _("was reactivated by the provider"), reading=True)
GROUP_MAPPED = Verb[RoleOfGroup]("group.mapped", _("gave a group a role"))
GROUP_UNMAPPED = Verb[RoleOfGroup]("group.unmapped", _("took a role from a group"))
