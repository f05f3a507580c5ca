"""Create, replace, change and delete the groups that a provider pushes. Roles in projects follow at once."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from scim2_models import Context, InvalidValueException, NotFoundException, UniquenessException

from annotations.models import GroupRole, ProviderAccount, ProvisionedGroup, ProvisionedUser
from annotations.projects.rules import ProvisioningProvider
from annotations.projects.services.providers.scim import resources
from annotations.projects.services.providers.signing_in import follow_pushed

MOST: Final = 20


def model_of(_provider: ProvisioningProvider) -> type[resources.PeopleGroup]:
    return resources.PeopleGroup


def rows_of(provider: ProvisioningProvider) -> "QuerySet[ProvisionedGroup]":
    """The groups of this provider; it sees and changes no other."""
    return ProvisionedGroup.objects.filter(provider=provider.id)


def create(provider: ProvisioningProvider, body: Mapping[str, Any]) -> ProvisionedGroup:
    """Make a group. Raises UniquenessException if there is one with this name, and InvalidValueException."""
    resource = resources.read(resources.PeopleGroup, body, Context.RESOURCE_CREATION_REQUEST)
    with transaction.atomic():
        row = ProvisionedGroup(provider=provider.id)
        _store(row, resource)
    return row


def replace(provider: ProvisioningProvider, pk: UUID, body: Mapping[str, Any]) -> ProvisionedGroup:
    resource = resources.read(resources.PeopleGroup, body, Context.RESOURCE_REPLACEMENT_REQUEST)
    with transaction.atomic():
        row = _locked(provider, pk)
        resource.replace(resources.group_resource(row, resources.Links("", provider.id), with_members=False))
        _store(row, resource)
    return row


def patch(provider: ProvisioningProvider, pk: UUID, body: Mapping[str, Any]) -> ProvisionedGroup:
    """Carry out the operations of a PATCH: all of them, or none."""
    operations = resources.operations_of(resources.PeopleGroup, body)
    with transaction.atomic():
        row = _locked(provider, pk)
        resource = resources.group_resource(row, resources.Links("", provider.id))
        operations.patch(resource, scim_policy=resources.POLICY)
        _store(row, resource)
    return row


def delete(provider: ProvisioningProvider, pk: UUID) -> None:
    """Delete the group. Its members lose the roles that came from it."""
    with transaction.atomic():
        row = _locked(provider, pk)
        accounts = _locked_accounts(set(row.members.values_list("pk", flat=True)))
        row.delete()
        follow_pushed(accounts)


def _locked(provider: ProvisioningProvider, pk: UUID) -> ProvisionedGroup:
    row = rows_of(provider).select_for_update().filter(pk=pk).first()
    if row is None:
        raise NotFoundException(detail="There is no such group.")
    return row


def _locked_accounts(members: set[UUID]) -> list[ProviderAccount]:
    """Return the accounts of these users, always locked in the same order."""
    found = ProviderAccount.objects.select_for_update().filter(provisioned__in=members)
    return list(found.order_by("pk"))


def _store(row: ProvisionedGroup, resource: resources.PeopleGroup) -> None:
    """Store what the provider says of the group, and let roles follow. Raises the errors of SCIM."""
    name = resource.display_name or ""
    if not 1 <= len(name) <= resources.LONGEST:
        raise InvalidValueException(detail=f"displayName must have 1 to {resources.LONGEST} characters.")
    resources.check_size(resource)
    new, before = row._state.adding, row.name
    held = set() if new else set(row.members.values_list("pk", flat=True))
    wanted = _members(row.provider, resource)
    row.name, row.external_id, row.changed_at = name, resource.external_id or "", timezone.now()
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        raise UniquenessException(detail="There is a group with this displayName already.") from None
    with_roles = GroupRole.objects.filter(provider=row.provider, group__in=[before, name]).exists()
    concerned = held | wanted if before != name else held ^ wanted
    accounts = _locked_accounts(concerned if with_roles else set())
    row.members.set(ProvisionedUser.objects.filter(pk__in=wanted))
    follow_pushed(accounts)


def _members(provider: str, resource: resources.PeopleGroup) -> set[UUID]:
    """Return the ids of the members, all of them users of this provider. Raises InvalidValueException."""
    named = {resources.id_of(one.value) for one in resource.members or ()}
    ids = {one for one in named if one}
    known = set(ProvisionedUser.objects.filter(provider=provider, pk__in=ids).values_list("pk", flat=True))
    if named - known:
        raise InvalidValueException(detail="A member is not a user of this provider. Nested groups are not supported.")
    return known
