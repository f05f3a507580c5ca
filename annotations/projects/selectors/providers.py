"""Providers of the settings, and the roles of their groups in a project."""

from dataclasses import dataclass
from typing import TypeVar

from django.conf import settings
from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse

from annotations.models import GroupRole, Project
from annotations.projects.rules import LdapDirectory, OidcProvider, Provider, ProvisioningProvider

Kind = TypeVar("Kind", bound=Provider)


@dataclass(frozen=True)
class Button:
    """A button of the sign-in page."""

    name: str
    url: str


def configured() -> tuple[Provider, ...]:
    """All providers, in the order of the file."""
    found: tuple[Provider, ...] = settings.SIGN_IN
    return found


def provider_of(kind: type[Kind], key: str) -> Kind | None:
    """Return the provider with this id, or None where there is none of this kind."""
    return next((one for one in configured() if one.id == key and isinstance(one, kind)), None)


def provider_at(kind: type[Kind], key: str) -> Kind:
    """Return the provider that the address names. Raises Http404 where there is none of this kind."""
    found = provider_of(kind, key)
    if found is None:
        raise Http404("There is no such provider.")
    return found


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


def buttons() -> list[Button]:
    """The providers to which the sign-in page leads."""
    return [
        Button(
            one.name, reverse("openid_connect_login" if isinstance(one, OidcProvider) else "saml_login", args=[one.id])
        )
        for one in configured()
        if not isinstance(one, LdapDirectory)
    ]


def roles_of_groups(project: Project) -> QuerySet[GroupRole]:
    return GroupRole.objects.filter(project=project).order_by("provider", "group")
