"""One-time links for a new password."""

from typing import Any

from django.contrib.auth.tokens import PasswordResetTokenGenerator

from annotations.core.access import may_make_link
from annotations.models import Membership, User


class _TokensOf(PasswordResetTokenGenerator):
    """Django's tokens, which are also invalid once the account's rights have changed.

    Django's tokens are invalid after their use, after a sign-in, and after a time. The maker of the link had the right
    to make one for the account as it was then, and may not have it for the account as it is now.
    """

    key_salt = "deidreview.tokens.LinkTokens"

    def __init__(self, maker: str) -> None:
        super().__init__()
        self._maker = maker

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        rights = Membership.objects.filter(user=user.pk, active=True).order_by("project_id")
        held = ",".join(f"{project}:{role}" for project, role in rights.values_list("project_id", "role"))
        staff = f"{user.is_staff}{user.is_superuser}{user.is_active}"
        return f"{super()._make_hash_value(user, timestamp)}{held}{staff}|{self._maker}"


class LinkTokens:
    """Tokens that name their maker: `MAKER-TOKEN`. The maker must still have the right when the link is used.

    Maker 0 stands for the server's command line.
    """

    def make_token(self, user: User, maker: User | None = None) -> str:
        by = str(maker.pk if maker else 0)
        return f"{by}-{_TokensOf(by).make_token(user)}"

    def check_token(self, user: Any, token: str | None) -> bool:
        by, _, signed = (token or "").partition("-")
        if not isinstance(user, User) or not _TokensOf(by).check_token(user, signed):
            return False
        if by == "0":
            return True
        maker = User.objects.filter(pk=int(by)).first()
        return maker is not None and may_make_link(maker, user)
