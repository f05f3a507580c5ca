"""Create, replace, change and delete the users that a provider pushes. Each deactivation and return counts at once."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

import scim2_models as scim
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotations.models import ProviderAccount, ProvisionedUser, User
from annotations.projects.events import ACCOUNT_RESTORED
from annotations.projects.rules import ProvisioningProvider
from annotations.projects.services.providers import signing_in
from annotations.projects.services.providers.scim import resources

_NAME: Final = scim.Path[resources.ScimUser]("userName").resolve()


MOST: Final = resources.MOST_USERS
model_of = resources.model_of_users


def rows_of(provider: ProvisioningProvider) -> "QuerySet[ProvisionedUser]":
    """The users of this provider; it sees and changes no other."""
    return ProvisionedUser.objects.filter(provider=provider.id)


def create(provider: ProvisioningProvider, body: Mapping[str, Any]) -> ProvisionedUser:
    """Make the user's account, or connect the account that the same person already has by signing in.

    Raises UniquenessException if there is such a user already.
    """
    given = with_active(body, active=True)
    resource = resources.read(model_of(provider), given, scim.Context.RESOURCE_CREATION_REQUEST)
    with transaction.atomic(), _unique():
        identity = _identity(provider, resource)
        account = signing_in.found_account(identity)
        if account is not None and ProvisionedUser.objects.filter(account=account).exists():
            raise scim.UniquenessException(detail=f"There is a user with this {provider.scim_subject} already.")
        try:
            account = account or signing_in.made_account(identity, by_provider=True)
        except signing_in.SignInRefused as error:
            raise scim.InvalidValueException(detail=str(error)) from None
        row = ProvisionedUser(provider=provider.id, account=account, active=False)
        _store(row, resource)
        if not resource.active:
            signing_in.leave(account)
    return row


def replace(provider: ProvisioningProvider, pk: UUID, body: Mapping[str, Any]) -> ProvisionedUser:
    """Replace all that the provider said of the user. Without `active`, the user stays as they are."""

    def replaced(row: ProvisionedUser, present: resources.ScimUser) -> resources.ScimUser:
        given = with_active(body, active=row.active)
        resource = resources.read(model_of(provider), given, scim.Context.RESOURCE_REPLACEMENT_REQUEST)
        resource.replace(present)
        return resource

    return _change(provider, pk, replaced)


def patch(provider: ProvisioningProvider, pk: UUID, body: Mapping[str, Any]) -> ProvisionedUser:
    """Carry out the operations of a PATCH: all of them, or none."""
    operations = resources.operations_of(model_of(provider), body)

    def patched(row: ProvisionedUser, present: resources.ScimUser) -> resources.ScimUser:
        operations.patch(present, scim_policy=resources.POLICY)
        return present

    return _change(provider, pk, patched)


def delete(provider: ProvisioningProvider, pk: UUID) -> None:
    """Forget the user. Their account here stays, deactivated: its work and the audit log name it."""
    with transaction.atomic():
        row = _locked(provider, pk)
        row.delete()
        signing_in.leave(row.account)


def with_active(body: Mapping[str, Any], *, active: bool) -> dict[str, Any]:
    """Return the body with `active`, if it has none: names of attributes are compared without regard to case."""
    known = any(name.lower().rpartition(":")[2] == "active" for name in body)
    return dict(body) if known else {**body, "active": active}


def _locked(provider: ProvisioningProvider, pk: UUID) -> ProvisionedUser:
    """Return the user, whose account nobody else changes meanwhile. A sign-in locks the account as well."""
    rows = rows_of(provider).select_related("account")
    list(ProviderAccount.objects.select_for_update().filter(provisioned__in=rows_of(provider).filter(pk=pk)))
    row = rows.filter(pk=pk).first()
    if row is None:
        raise scim.NotFoundException(detail="There is no such user.")
    return row


def _change(
    provider: ProvisioningProvider,
    pk: UUID,
    change: Callable[[ProvisionedUser, resources.ScimUser], resources.ScimUser],
) -> ProvisionedUser:
    with transaction.atomic(), _unique():
        row = _locked(provider, pk)
        resource = change(row, resources.user_resource(row, resources.Links("", provider.id), model_of(provider)))
        subject = _subject(provider, resource)
        if subject and subject != row.account.subject:
            identity = _identity(provider, resource)
            if signing_in.found_account(identity) is not None:
                raise scim.UniquenessException(detail=f"Another person has this {provider.scim_subject}.")
            row.account.subject = identity.subject
            row.account.save(update_fields=["subject"])
        _store(row, resource)
    return row


def _store(row: ProvisionedUser, resource: resources.ScimUser) -> None:
    """Store what the provider says, and follow it."""
    name = resource.user_name or ""
    key = scim.default_comparison_key(_NAME, name)
    if not 1 <= len(name) <= resources.LONGEST or len(key) > resources.LONGEST:
        raise scim.InvalidValueException(detail=f"userName must have 1 to {resources.LONGEST} characters.")
    resources.check_size(resource)
    if ProvisionedUser.objects.filter(provider=row.provider, name_key=key).exclude(pk=row.pk).exists():
        raise scim.UniquenessException(detail="There is a user with this userName already.")
    new, was, row.active = row._state.adding, row.active, bool(resource.active)
    row.user_name, row.name_key, row.external_id = name, key, resource.external_id or ""
    row.said, row.changed_at = resources.said_by(resource), timezone.now()
    row.save()
    user = User.objects.select_for_update().get(pk=row.account.user_id)
    names = resource.name
    user.first_name = ((names and names.given_name) or "")[:150]
    user.last_name = ((names and names.family_name) or "")[:150]
    user.save(update_fields=["first_name", "last_name"])
    if was and not row.active:
        signing_in.leave(row.account)
    elif row.active and not was:
        returned = not user.is_active and user.left_provider_at is not None
        if returned:
            signing_in.reactivate(user, row.provider, ACCOUNT_RESTORED, actor=None)
        # A user who is pushed for the first time is in no group yet, but may have roles from sign-ins before.
        if returned or not new:
            signing_in.follow_pushed([row.account])


def _subject(provider: ProvisioningProvider, resource: resources.ScimUser) -> str:
    """Return what identifies the person at sign-in.

    It is empty for people who were pushed before the settings named this attribute: they keep what they had.
    """
    return (resource.external_id if provider.scim_subject == "externalId" else resource.user_name) or ""


def _identity(provider: ProvisioningProvider, resource: resources.ScimUser) -> signing_in.Identity:
    """Return who this is at sign-in. Raises InvalidValueException without what identifies the person."""
    subject = _subject(provider, resource)
    if not 1 <= len(subject) <= resources.LONGEST:
        raise scim.InvalidValueException(
            detail=f"{provider.scim_subject} must have 1 to {resources.LONGEST} characters."
        )
    return signing_in.Identity(provider=provider.id, subject=subject, username=resource.user_name or "")


@contextmanager
def _unique() -> Iterator[None]:
    """Turn the error of the database about a second row into the one of SCIM."""
    try:
        yield
    except IntegrityError:
        raise scim.UniquenessException(detail="Another request made the same resource at this moment.") from None
