"""From a person at a provider to an account here. The account follows from the subject, never from a name or an e-mail.

A first sign-in makes an account. If its user name is taken, the account gets the provider's id after the name: nobody
takes over an account that already exists. Only the command `link_account` connects an existing one. A provider that
pushes accounts by SCIM makes them before, and only people whom it pushed can sign in.
"""

import hashlib
import re
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from allauth.account.internal.flows.login import record_authentication
from allauth.account.utils import perform_login
from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.db import IntegrityError, transaction
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from annotations import models
from annotations.core.services import ProjectArchived, ServiceError, Verb
from annotations.projects.events import ACCOUNT_BACK, ACCOUNT_LEFT, ACCOUNT_LINKED, AtProvider
from annotations.projects.rules import SamlProvider
from annotations.projects.selectors.providers import configured, provisioning, pushes_groups
from annotations.projects.services.members import add_member, remove_member
from annotations.projects.services.second_factor import mark_second_factor

# What a provider says of a person who signs in, after everything was verified.


class SignInRefused(Exception):
    """A token, a response or an answer is not what it must be. The reason goes to the log only."""


class Unreachable(Exception):
    """The provider does not answer, or not as a provider does. It may answer later.

    `sealed` is what to ask with next time, if the provider has replaced it before.
    """

    def __init__(self, reason: str, sealed: bytes = b"") -> None:
        super().__init__(reason)
        self.sealed = sealed


class Gone(Exception):
    """The provider says that the person may not be signed in any more."""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """A person at a provider. `sealed` is what the relay needs to ask again; `until` is when the session must end."""

    provider: str
    subject: str
    username: str
    first_name: str = ""
    last_name: str = ""
    groups: frozenset[str] = frozenset()
    second_factor: bool = False
    sid: str = ""
    name_id: str = ""
    until: datetime | None = None
    sealed: bytes = field(default=b"", repr=False)


# The end of an account whose person has left the provider (sessions, tokens, passwords), and the way back.


def leave(account: models.ProviderAccount) -> None:
    """Deactivate the account until the person signs in at the provider again, and end its sessions there.

    Accounts that DEIDREVIEW_PASSWORD_ACCOUNTS names stay active, so that an administrator can always sign in.
    """
    with transaction.atomic():
        user = models.User.objects.select_for_update().get(pk=account.user_id)
        account.sessions.all().delete()
        models.ProviderAccount.objects.filter(pk=account.pk).update(sealed=b"", next_check_at=None)
        if not user.is_active or user.username in (settings.PASSWORD_ACCOUNTS or ()):
            return
        user.is_active, user.left_provider_at = False, timezone.now()
        user.save(update_fields=["is_active", "left_provider_at"])
        for project in models.Membership.objects.filter(user=user, active=True).values_list("project_id", flat=True):
            ACCOUNT_LEFT.record(project_id=project, data={"user": user.username, "provider": account.provider})


def reactivate(user: models.User, provider: str, verb: Verb[AtProvider], *, actor: models.User | None) -> None:
    """Reactivate an account that `leave` deactivated, with an event in each of its projects."""
    user.is_active, user.left_provider_at = True, None
    user.save(update_fields=["is_active", "left_provider_at"])
    for project in models.Membership.objects.filter(user=user, active=True).values_list("project_id", flat=True):
        verb.record(actor=actor, project_id=project, data={"user": user.username, "provider": provider})


# Roles in projects by a provider's groups.
#
# A role that a person gave by hand stays as it is, and so does a removal by hand. All other roles follow the groups at
# each sign-in and at each check of the relay.


# Of several groups, the one with the most rights counts. An annotator who is also a viewer stays blind to others.
ORDER = [models.Role.MANAGER, models.Role.REVIEWER, models.Role.ANNOTATOR, models.Role.VIEWER]


def follow_groups(*, user: models.User, provider: str, groups: Collection[str]) -> None:
    """Give the person the roles of these groups, and take those that came from other groups of the provider."""
    wanted = _wanted(provider, groups)
    held = {one.project_id: one for one in models.Membership.objects.filter(user=user).select_related("project")}
    for pk in sorted(wanted.keys() | held.keys()):
        member, role = held.get(pk), wanted.get(pk)
        kept = member is not None and (member.provided_by != provider or (member.role == role and member.active))
        if role is not None and not kept:
            _give(models.Project.objects.get(pk=pk), user, role, provider, member)
        elif role is None and member is not None and member.active and member.provided_by == provider:
            remove_member(project=member.project, user=user, actor=None, provided_by=provider)


def _wanted(provider: str, groups: Collection[str]) -> dict[int, str]:
    found: dict[int, str] = {}
    rows = models.GroupRole.objects.filter(provider=provider, group__in=list(groups)).values_list("project_id", "role")
    for project, role in sorted(rows, key=lambda row: ORDER.index(models.Role(row[1]))):
        found.setdefault(project, role)
    return found


def _give(
    project: models.Project, user: models.User, role: str, provider: str, member: models.Membership | None
) -> None:
    """Give the role. In an archived project, nobody gets a role, and one that has changed ends until it is restored."""
    try:
        with transaction.atomic():
            add_member(project=project, user=user, role=role, provided_by=provider)
    except ProjectArchived:
        if member is not None and member.active:
            remove_member(project=project, user=user, actor=None, provided_by=provider)


# What sign-in, the relay and the roles of groups ask about people whom a provider pushes by SCIM.


def may_be_here(account: models.ProviderAccount | None, provider: str) -> bool:
    """Whether the provider pushed this person and did not deactivate them. True where it pushes nobody."""
    if provisioning(provider) is None:
        return True
    return account is not None and models.ProvisionedUser.objects.filter(account=account, active=True).exists()


def is_pushed(account: models.ProviderAccount) -> bool:
    """Whether the provider would say by SCIM that the person has left."""
    return provisioning(account.provider) is not None and may_be_here(account, account.provider)


def groups_of(account: models.ProviderAccount, told: Collection[str]) -> Collection[str]:
    """Return the person's groups: those of SCIM where roles follow them, or else those that the provider told."""
    if not pushes_groups(account.provider):
        return told
    return list(models.ProvisionedGroup.objects.filter(members__account=account).values_list("name", flat=True))


def follow_pushed(accounts: Iterable[models.ProviderAccount]) -> None:
    """Give these people the roles of their groups of SCIM, at once. Who is deactivated gets them at their return.

    Where roles follow the groups of the sign-in, nothing changes.
    """
    for account in accounts:
        user = models.User.objects.select_for_update().get(pk=account.user_id)
        if user.is_active and pushes_groups(account.provider):
            follow_groups(user=user, provider=account.provider, groups=groups_of(account, ()))


def follow_members(provider: str, group: str) -> None:
    """Give the members of a group of SCIM their roles, after the group got or lost one in a project."""
    if pushes_groups(provider):
        members = models.ProvisionedUser.objects.filter(groups__provider=provider, groups__name=group)
        follow_pushed(one.account for one in members.select_related("account").order_by("account_id"))


# Sessions that began at a provider. Each has a row, and ends with it: within ALIVE_SECONDS, in every web process.


# A web process asks the database at most this often whether a session goes on (seconds).
ALIVE_SECONDS = 5.0
# While a provider can't be asked whether a person is still there, or while no relay asks it, sessions go on this long.
UNASKED = timedelta(minutes=5)
KEPT = timedelta(days=7)
_ROW, _BEGUN = "provider_session", "provider_begun"
_alive: dict[int, float] = {}
_MOST = 4096


def begin(request: HttpRequest, account: models.ProviderAccount, identity: Identity) -> None:
    """Remember who is about to sign in. The session begins with the sign-in, which may take a second step."""
    request.session[_BEGUN] = {
        "user": account.user_id,
        "account": account.pk,
        "sid": identity.sid[:255],
        "name_id": identity.name_id[:255],
        "until": identity.until.timestamp() if identity.until else None,
        "second_factor": identity.second_factor,
    }


@receiver(user_logged_in)
def _began(request: HttpRequest, user: models.User, **_: Any) -> None:
    begun = request.session.pop(_BEGUN, None)
    request.session.pop(_ROW, None)
    if begun is None or begun["user"] != user.pk:
        return
    until = datetime.fromtimestamp(begun["until"], UTC) if begun["until"] else None
    with transaction.atomic():
        # Who was deactivated a moment ago gets a session that has ended already, also if they return later.
        active = models.User.objects.select_for_update().values_list("is_active", flat=True).get(pk=user.pk)
        row = models.ProviderSession(
            account_id=begun["account"], sid=begun["sid"], name_id=begun["name_id"], until=until
        )
        if active:
            row.save()
    request.session[_ROW] = row.pk or 0
    if begun["second_factor"]:
        mark_second_factor(request, user)


@receiver(user_logged_out)
def _ended(request: HttpRequest | None, **_: Any) -> None:
    row = request.session.get(_ROW) if request is not None else None
    if row is not None:
        models.ProviderSession.objects.filter(pk=row).delete()


def has_ended(request: HttpRequest) -> bool:
    """Whether the session began at a provider and must end now."""
    row = request.session.get(_ROW)
    if row is None:
        return False
    now = time.monotonic()
    if _alive.get(row, 0.0) > now:
        return False
    if not _goes_on(row, request.user.pk):
        return True
    if len(_alive) >= _MOST:
        _alive.clear()
    _alive[row] = now + ALIVE_SECONDS
    return False


def _goes_on(row: int, user: int | None) -> bool:
    found = models.ProviderSession.objects.filter(pk=row, account__user=user).values_list(
        "until", "account__provider", "account__checked_at"
    )
    for until, key, checked in found:
        provider = next((one for one in configured() if one.id == key), None)
        now = timezone.now()
        fresh = isinstance(provider, SamlProvider) or (checked is not None and checked > now - UNASKED)
        return provider is not None and fresh and (until is None or until > now)
    return False


def forget_old() -> int:
    """Delete rows of sessions that nobody ended, such as those of closed browsers. Return how many."""
    return models.ProviderSession.objects.filter(began_at__lt=timezone.now() - KEPT).delete()[0]


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


def account_of(identity: Identity) -> models.ProviderAccount:
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


def found_account(identity: Identity) -> models.ProviderAccount | None:
    """Return the person's account, locked until the end of the transaction."""
    rows = models.ProviderAccount.objects.select_for_update(of=("self",)).select_related("user")
    return rows.filter(provider=identity.provider, subject=identity.subject).first()


def made_account(identity: Identity, *, by_provider: bool = False) -> models.ProviderAccount:
    """Make an account for the person: at their sign-in, or because the provider pushed it."""
    user = models.User.objects.create_user(username=_free_name(identity))
    ACCOUNT_LINKED.record(
        actor=None if by_provider else user, data={"user": user.username, "provider": identity.provider}
    )
    return models.ProviderAccount.objects.create(user=user, provider=identity.provider, subject=identity.subject)


def _free_name(identity: Identity) -> str:
    """Return the provider's user name, or where it is taken the name with the provider's id, and then a number."""
    wanted = _UNUSABLE.sub("", identity.username)[:_LONGEST] or "person"
    tried = [wanted, f"{wanted}@{identity.provider}"]
    tried += [f"{wanted}@{identity.provider}-{number}" for number in range(2, _MOST_NAMES)]
    for name in tried:
        if not models.User.objects.filter(username__iexact=name).exists():
            return name
    raise SignInRefused("No user name is free.")


def link_account(
    *, user: models.User, provider: str, subject: str, actor: models.User | None
) -> models.ProviderAccount:
    """Connect an existing account with a person at a provider, for administrators on the server's command line."""
    with transaction.atomic():
        taken = models.ProviderAccount.objects.filter(provider=provider, subject=subject).select_related("user").first()
        if taken is not None and taken.user_id != user.pk:
            raise ServiceError(f"This person already has the account “{taken.user.username}”.", code="taken")
        if models.ProviderAccount.objects.filter(provider=provider, user=user).exclude(subject=subject).exists():
            raise ServiceError(f"“{user.username}” is already connected with somebody else there.", code="connected")
        account, created = models.ProviderAccount.objects.get_or_create(provider=provider, subject=subject, user=user)
        if created:
            ACCOUNT_LINKED.record(actor=actor, data={"user": user.username, "provider": provider})
    return account


# What may be used only once, by all web processes together: assertions and tokens of providers.


# Clocks may differ by this much; python3-saml allows the same.
DRIFT = timedelta(minutes=5)


def use_up(kind: str, name: str, until: datetime) -> bool:
    """Use up what has this name until it expires. Return False if it was used before."""
    digest = hashlib.sha256(f"{kind}\0{name}".encode()).hexdigest()
    try:
        with transaction.atomic():
            models.UsedToken.objects.create(digest=digest, until=until + DRIFT)
    except IntegrityError:
        return False
    return True


def forget_used() -> int:
    """Forget what has expired anyway. Return how many."""
    return models.UsedToken.objects.filter(until__lt=timezone.now()).delete()[0]
