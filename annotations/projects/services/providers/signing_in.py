"""From a person at a provider to an account here. The account follows from the subject, never from a name or an e-mail.

A first sign-in makes an account. If its user name is taken, the account gets the provider's id after the name: nobody
takes over an account that already exists. Only the command `link_account` connects an existing one. A provider that
pushes accounts by SCIM makes them before, and only people whom it pushed can sign in.
"""

import re
from datetime import timedelta
from typing import Final

from allauth.account.internal.flows.login import record_authentication
from allauth.account.utils import perform_login
from django.contrib.auth import logout
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from annotations.core.errors import ServiceError
from annotations.models import ProviderAccount, User
from annotations.projects.events import ACCOUNT_BACK, ACCOUNT_LINKED
from annotations.projects.selectors.providers import provisioning
from annotations.projects.services.providers.identity import Identity, SignInRefused
from annotations.projects.services.providers.leaving import reactivate
from annotations.projects.services.providers.memberships import follow_groups
from annotations.projects.services.providers.provisioned import groups_of, may_be_here
from annotations.projects.services.providers.sessions import begin

# The relay asks a provider this often whether a person is still there.
EVERY: Final = timedelta(seconds=25)
# Nobody can ask a SAML provider. After this time without a sign-in, the account and its API tokens stop working.
UNASKABLE: Final = timedelta(hours=12)
_UNUSABLE: Final = re.compile(r"[^\w.@+-]+")
_LONGEST: Final = 100
_MOST_NAMES: Final = 1000


def sign_in(request: HttpRequest, identity: Identity, next_url: str | None) -> HttpResponse:
    """Sign the person in, with the second step that the account itself has, if any."""
    account = account_of(identity)
    if request.user.is_authenticated:
        logout(request)
    begin(request, account, identity)
    record_authentication(request, account.user, "socialaccount", provider=identity.provider)
    response: HttpResponse = perform_login(request, account.user, email_verification="none", redirect_url=next_url)
    return response


def account_of(identity: Identity) -> ProviderAccount:
    """Return the account of the person, made or reactivated if needed, with the roles of the person's groups."""
    if not identity.subject or len(identity.subject) > 255:
        raise SignInRefused("The subject has no usable length.")
    with transaction.atomic():
        found = found_account(identity)
        if not may_be_here(found, identity.provider):
            raise SignInRefused("By SCIM, the provider never pushed this person, or has deactivated them.")
        account = found or made_account(identity)
        user = account.user
        now = timezone.now()
        if not user.is_active and user.left_provider_at:
            reactivate(user, identity.provider, ACCOUNT_BACK, actor=user)
        account.sealed, account.second_factor = identity.sealed, identity.second_factor
        account.signed_in_at = account.checked_at = now
        account.next_check_at = now + (EVERY if identity.sealed else UNASKABLE)
        account.save()
        if user.is_active:
            if provisioning(identity.provider) is None:
                user.first_name, user.last_name = identity.first_name[:150], identity.last_name[:150]
                user.save(update_fields=["first_name", "last_name"])
            groups = groups_of(account, identity.groups)
            follow_groups(user=user, provider=identity.provider, groups=groups)
    return account


def found_account(identity: Identity) -> ProviderAccount | None:
    """Return the person's account, locked until the end of the transaction."""
    rows = ProviderAccount.objects.select_for_update(of=("self",)).select_related("user")
    return rows.filter(provider=identity.provider, subject=identity.subject).first()


def made_account(identity: Identity, *, by_provider: bool = False) -> ProviderAccount:
    """Make an account for the person: at their sign-in, or because the provider pushed it."""
    user = User.objects.create_user(username=_free_name(identity))
    ACCOUNT_LINKED.record(
        actor=None if by_provider else user, data={"user": user.username, "provider": identity.provider}
    )
    return ProviderAccount.objects.create(user=user, provider=identity.provider, subject=identity.subject)


def _free_name(identity: Identity) -> str:
    """Return the provider's user name, or where it is taken the name with the provider's id, and then a number."""
    wanted = _UNUSABLE.sub("", identity.username)[:_LONGEST] or "person"
    tried = [wanted, f"{wanted}@{identity.provider}"]
    tried += [f"{wanted}@{identity.provider}-{number}" for number in range(2, _MOST_NAMES)]
    for name in tried:
        if not User.objects.filter(username__iexact=name).exists():
            return name
    raise SignInRefused("No user name is free.")


def link_account(*, user: User, provider: str, subject: str, actor: User | None) -> ProviderAccount:
    """Connect an existing account with a person at a provider, for administrators on the server's command line."""
    with transaction.atomic():
        taken = ProviderAccount.objects.filter(provider=provider, subject=subject).select_related("user").first()
        if taken is not None and taken.user_id != user.pk:
            raise ServiceError(f"This person already has the account “{taken.user.username}”.", code="taken")
        if ProviderAccount.objects.filter(provider=provider, user=user).exclude(subject=subject).exists():
            raise ServiceError(f"“{user.username}” is already connected with somebody else there.", code="connected")
        account, created = ProviderAccount.objects.get_or_create(provider=provider, subject=subject, user=user)
        if created:
            ACCOUNT_LINKED.record(actor=actor, data={"user": user.username, "provider": provider})
    return account
