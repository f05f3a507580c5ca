"""Events of accounts that belong to a person at a provider, and of the roles of groups."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


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
