"""What sign-in, the relay and the roles of groups ask about people whom a provider pushes by SCIM."""

from collections.abc import Collection, Iterable

from annotations.models import ProviderAccount, ProvisionedGroup, ProvisionedUser, User
from annotations.projects.selectors.providers import provisioning, pushes_groups
from annotations.projects.services.providers.memberships import follow_groups


def may_be_here(account: ProviderAccount | None, provider: str) -> bool:
    """Whether the provider pushed this person and did not deactivate them. True where it pushes nobody."""
    if provisioning(provider) is None:
        return True
    return account is not None and ProvisionedUser.objects.filter(account=account, active=True).exists()


def is_pushed(account: ProviderAccount) -> bool:
    """Whether the provider would say by SCIM that the person has left."""
    return provisioning(account.provider) is not None and may_be_here(account, account.provider)


def groups_of(account: ProviderAccount, told: Collection[str]) -> Collection[str]:
    """Return the person's groups: those of SCIM where roles follow them, or else those that the provider told."""
    if not pushes_groups(account.provider):
        return told
    return list(ProvisionedGroup.objects.filter(members__account=account).values_list("name", flat=True))


def follow_pushed(accounts: Iterable[ProviderAccount]) -> None:
    """Give these people the roles of their groups of SCIM, at once. Who is deactivated gets them at their return.

    Where roles follow the groups of the sign-in, nothing changes.
    """
    for account in accounts:
        user = User.objects.select_for_update().get(pk=account.user_id)
        if user.is_active and pushes_groups(account.provider):
            follow_groups(user=user, provider=account.provider, groups=groups_of(account, ()))


def follow_members(provider: str, group: str) -> None:
    """Give the members of a group of SCIM their roles, after the group got or lost one in a project."""
    if pushes_groups(provider):
        members = ProvisionedUser.objects.filter(groups__provider=provider, groups__name=group)
        follow_pushed(one.account for one in members.select_related("account").order_by("account_id"))
