"""Create, find and revoke tokens. A token is random, so that its plain SHA-256 suffices to recognize it."""

import hashlib
import secrets
from datetime import timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.signals import post_save
from django.dispatch import receiver
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.services import TOKEN_CREATED, TOKEN_REVOKED, ServiceError, TokenEvent, good_name
from annotations.models import ApiToken, Membership, Project, User

MARK: Final = "deid_"
SHOWN: Final = len(MARK) + 6
MOST_DAYS: Final = 366
MOST_TOKENS: Final = 50
# The last use is written at most this often, so that a request needs no second commit.
_TOUCH: Final = timedelta(minutes=1)
# What a request needs of its token and person; other columns are loaded on access.
_CHECKED: Final = (
    *("project_id", "scope", "expires_at", "revoked_at", "last_used_at"),
    *("user__username", "user__is_active", "user__is_staff", "user__is_superuser"),
)


def create_token(
    *, user: User, name: str, scope: str, days: int, project: Project | None = None, actor: User | None
) -> tuple[ApiToken, str]:
    """Create a token of `user` for so many days. Return its row, and the token itself, which is stored nowhere.

    Raises ServiceError (`name`, `days`, `scope`, `project`, `many`).
    """
    name = good_name(name)
    if not name:
        raise ServiceError(_("Enter a name that says what the token is for."), code="name")
    if not 1 <= days <= MOST_DAYS:
        raise ServiceError(_("A token is valid for 1 to %(most)s days.") % {"most": MOST_DAYS}, code="days")
    if scope not in ApiToken.Scope.values:
        message = _("The scope must be one of: %(choices)s.")
        raise ServiceError(message % {"choices": ", ".join(ApiToken.Scope.values)}, code="scope")
    if project is not None and not Membership.objects.filter(project=project, user=user, active=True).exists():
        raise ServiceError(_("This person is not a member of the project."), code="project")
    secret = MARK + secrets.token_urlsafe(32)
    now = timezone.now()
    with transaction.atomic():
        list(User.objects.select_for_update(no_key=True).filter(pk=user.pk).values_list("pk"))
        if valid_tokens(user).count() >= MOST_TOKENS:
            message = _("There are already %(most)s valid tokens. Revoke those that are not used.")
            raise ServiceError(message % {"most": MOST_TOKENS}, code="many")
        row = ApiToken.objects.create(
            user=user, name=name, prefix=secret[:SHOWN], digest=_digest(secret), scope=scope, project=project,
            expires_at=now + timedelta(days=days),
        )  # fmt: skip
        TOKEN_CREATED.record(actor=actor, project_id=project.pk if project else None, data=_data(row))
    return row, secret


def revoke_token(*, token: ApiToken, actor: User | None) -> None:
    """Make a token invalid for good. Safe to repeat."""
    with transaction.atomic():
        if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
            # Without a project: a token can also be revoked while its project is archived.
            TOKEN_REVOKED.record(actor=actor, data=_data(token))


@receiver(post_save, sender=User)
def _revoke_all(instance: User, created: bool, **_: Any) -> None:
    """Revoke all tokens of a person who gets a new password, whoever set it."""
    # Django keeps the new password in this attribute until the account is saved (AbstractBaseUser.set_password).
    if created or getattr(instance, "_password", None) is None:
        return
    for token in valid_tokens(instance):
        revoke_token(token=token, actor=None)


def valid_tokens(user: User) -> "QuerySet[ApiToken]":
    return ApiToken.objects.filter(user=user, revoked_at=None, expires_at__gt=timezone.now())


def token_of(secret: str) -> ApiToken | None:
    """Return the valid token of an active account, and record its use; None if there is none."""
    if not secret.startswith(MARK):
        return None
    try:
        row = ApiToken.objects.select_related("user").only(*_CHECKED).get(digest=_digest(secret))
    except ApiToken.DoesNotExist:
        return None
    now = timezone.now()
    if row.revoked_at is not None or row.expires_at <= now or not row.user.is_active:
        return None
    if row.last_used_at is None or now - row.last_used_at > _TOUCH:
        ApiToken.objects.filter(pk=row.pk).update(last_used_at=now)
    return row


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _data(row: ApiToken) -> TokenEvent:
    return {"token": row.pk, "user": row.user.username, "scope": row.scope}
