"""The end of an account whose person has left the provider (sessions, tokens, passwords), and the way back."""

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from annotations.core.events import Verb
from annotations.models import Membership, ProviderAccount, User
from annotations.projects.events import ACCOUNT_LEFT, AtProvider


def leave(account: ProviderAccount) -> None:
    """Deactivate the account until the person signs in at the provider again, and end its sessions there.

    Accounts that DEIDREVIEW_PASSWORD_ACCOUNTS names stay active, so that an administrator can always sign in.
    """
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=account.user_id)
        account.sessions.all().delete()
        ProviderAccount.objects.filter(pk=account.pk).update(sealed=b"", next_check_at=None)
        if not user.is_active or user.username in (settings.PASSWORD_ACCOUNTS or ()):
            return
        user.is_active, user.left_provider_at = False, timezone.now()
        user.save(update_fields=["is_active", "left_provider_at"])
        for project in Membership.objects.filter(user=user, active=True).values_list("project_id", flat=True):
            ACCOUNT_LEFT.record(project_id=project, data={"user": user.username, "provider": account.provider})


def reactivate(user: User, provider: str, verb: Verb[AtProvider], *, actor: User | None) -> None:
    """Reactivate an account that `leave` deactivated, with an event in each of its projects."""
    user.is_active, user.left_provider_at = True, None
    user.save(update_fields=["is_active", "left_provider_at"])
    for project in Membership.objects.filter(user=user, active=True).values_list("project_id", flat=True):
        verb.record(actor=actor, project_id=project, data={"user": user.username, "provider": provider})
