"""Is everybody still at their provider? The relay asks, beside its other work, so that no request waits for it.

Each account is asked about every 25 seconds. Who is gone loses sessions, tokens and password at once; the groups of all
others are followed. Where a provider doesn't answer, sessions go on for a while (sessions.UNASKED).
"""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.sealing import OtherSecretKey
from annotations.core.services import ServiceError
from annotations.models import GroupRole, Project, ProviderAccount, Role, User
from annotations.projects.events import GROUP_MAPPED, GROUP_UNMAPPED
from annotations.projects.rules import LdapDirectory, OidcProvider, Provider
from annotations.projects.selectors.providers import configured
from annotations.projects.services.providers import signing_in

log = logging.getLogger("deidreview.sign_in")
AT_ONCE = 8
_asking: list[threading.Thread] = []
_away: set[str] = set()


def step() -> None:
    """Begin to ask where it is time, unless the last round is still under way. The relay calls this every second."""
    _asking[:] = [one for one in _asking if one.is_alive()]
    if _asking or not due():
        return
    thread = threading.Thread(target=_round, name="sign-in checks", daemon=True)
    _asking.append(thread)
    thread.start()


def due() -> list[int]:
    """The accounts about which to ask now."""
    now = timezone.now()
    rows = ProviderAccount.objects.filter(next_check_at__lte=now).order_by("next_check_at")
    return list(rows.values_list("pk", flat=True)[:1000])


def _round() -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(_apart, due()))
    connection.close()


def _apart(pk: int) -> None:
    try:
        check(pk)
    except Exception:
        log.exception("An account could not be checked with its provider.")
    finally:
        connection.close()


def check(pk: int) -> None:
    """Ask about one account, unless another relay does."""
    account = ProviderAccount.objects.select_related("user").get(pk=pk)
    taken = ProviderAccount.objects.filter(pk=pk, next_check_at=account.next_check_at)
    if account.next_check_at is None or not taken.update(next_check_at=timezone.now() + signing_in.EVERY):
        return
    provider = next((one for one in configured() if one.id == account.provider), None)
    if provider is None or not account.sealed:
        # Nobody can be asked: the provider is no longer configured, or it is SAML and the sign-in was long ago.
        if signing_in.is_pushed(account):
            ProviderAccount.objects.filter(pk=pk).update(next_check_at=timezone.now() + signing_in.UNASKABLE)
        else:
            signing_in.leave(account)
        return
    try:
        groups, sealed = _ask(provider, account)
    except (signing_in.Unreachable, signing_in.SignInRefused, OtherSecretKey) as error:
        _say(provider, error)
        if isinstance(error, signing_in.Unreachable) and error.sealed:
            _stored(account, error.sealed)
        return
    _say(provider, None)
    if groups is None:
        signing_in.leave(account)
        return
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=account.user_id)
        if _stored(account, sealed, checked=True) and user.is_active:
            signing_in.follow_groups(user=user, provider=provider.id, groups=signing_in.groups_of(account, groups))


def _ask(provider: Provider, account: ProviderAccount) -> tuple[frozenset[str] | None, bytes]:
    """Return the person's groups, or None where the person is gone, and what to ask with next time."""
    if isinstance(provider, LdapDirectory):
        from annotations.projects.services.providers import directory

        return directory.groups_now(provider, account.subject), bytes(account.sealed)
    assert isinstance(provider, OidcProvider)
    from annotations.projects.services.providers import oidc

    try:
        return oidc.still_there(provider, account.subject, bytes(account.sealed))
    except signing_in.Gone:
        return None, b""


def _stored(account: ProviderAccount, sealed: bytes, *, checked: bool = False) -> bool:
    """Store the answer, unless the person has signed in meanwhile, which stored a newer one."""
    rows = ProviderAccount.objects.filter(pk=account.pk, signed_in_at=account.signed_in_at)
    return bool(rows.update(sealed=sealed, **({"checked_at": timezone.now()} if checked else {})))


def _say(provider: Provider, error: Exception | None) -> None:
    """Log once when a provider stops to answer, and once when it answers again."""
    if error is not None and provider.id not in _away:
        _away.add(provider.id)
        log.warning("The provider %s gives no usable answer (%s); trying again", provider.id, error)
    elif error is None and provider.id in _away:
        _away.discard(provider.id)
        log.warning("The provider %s answers again", provider.id)


# Give a provider's group a role in a project, and take it.


LONGEST = 255


def map_group(*, project: Project, provider: str, group: str, role: str, actor: User | None) -> GroupRole:
    """Give a group a role, or another role. People get it when they sign in next, or are checked next.

    Members of a group that the provider pushes by SCIM get it at once.
    """
    known = {one.id: one for one in configured()}
    if provider not in known:
        raise ServiceError(
            _("There is no provider “%(provider)s”. Providers: %(known)s.")
            % {"provider": provider, "known": ", ".join(known) or _("none")},
            code="provider",
        )
    if role not in Role.values:
        message = _("“%(role)s” is not a role. Choose one of: %(choices)s.")
        raise ServiceError(message % {"role": role, "choices": ", ".join(Role.values)}, code="role")
    group = group.strip()
    if isinstance(known[provider], LdapDirectory):
        group = group.lower()  # as names are compared in LDAP
    if not 1 <= len(group) <= LONGEST:
        message = _("The name of a group has 1 to %(longest)s characters.")
        raise ServiceError(message % {"longest": LONGEST}, code="group")
    with transaction.atomic():
        row, created = GroupRole.objects.select_for_update().get_or_create(
            project=project, provider=provider, group=group, defaults={"role": role}
        )
        if created or row.role != role:
            row.role = role
            row.save(update_fields=["role"])
            GROUP_MAPPED.record(
                actor=actor, project_id=project.pk, data={"group": row.pk, "provider": provider, "role": role}
            )
            signing_in.follow_members(provider, group)
    return row


def unmap_group(*, row: GroupRole, actor: User | None) -> None:
    """Take the role from a group. People lose it when they sign in next, or are checked next; by SCIM, at once."""
    with transaction.atomic():
        GROUP_UNMAPPED.record(
            actor=actor, project_id=row.project_id, data={"group": row.pk, "provider": row.provider, "role": row.role}
        )
        row.delete()
        signing_in.follow_members(row.provider, row.group)
