"""Events of members."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


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
