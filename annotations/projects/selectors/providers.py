"""Providers of the settings, and the roles of their groups in a project."""

from typing import TypeVar

from django.conf import settings
from django.db.models import QuerySet

from annotations.models import GroupRole, Project
from annotations.projects.rules import LdapDirectory, Provider, ProvisioningProvider

Kind = TypeVar("Kind", bound=Provider)


def configured() -> tuple[Provider, ...]:
    """All providers, in the order of the file."""
    found: tuple[Provider, ...] = settings.SIGN_IN
    return found


def provider_of(kind: type[Kind], key: str) -> Kind | None:
    """Return the provider with this id, or None where there is none of this kind."""
    return next((one for one in configured() if one.id == key and isinstance(one, kind)), None)


def provisioning(key: str) -> ProvisioningProvider | None:
    """Return the provider with this id if it pushes accounts by SCIM, or else None."""
    found = provider_of(ProvisioningProvider, key)
    return found if found is not None and found.provisions else None


def pushes_groups(key: str) -> bool:
    """Whether roles follow the groups that this provider pushes by SCIM."""
    found = provisioning(key)
    return found is not None and found.scim_groups


def directory() -> LdapDirectory | None:
    """Return the LDAP directory, if there is one: its people sign in with the form."""
    return next((one for one in configured() if isinstance(one, LdapDirectory)), None)


def roles_of_groups(project: Project) -> QuerySet[GroupRole]:
    return GroupRole.objects.filter(project=project).order_by("provider", "group")
