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


class ResetLinkMade(TypedDict):
    user: str


MEMBER_ADDED = Verb[MemberRole]("member.added", _("added a member"))
MEMBER_CHANGED = Verb[MemberRole]("member.changed", _("changed a member's role"))
MEMBER_REMOVED = Verb[MemberRemoved]("member.removed", _("removed a member"))
RESET_LINK_MADE = Verb[ResetLinkMade]("member.reset_link", _("created a password link"))
