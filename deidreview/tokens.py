"""One-time links for a new password."""

from django.contrib.auth.tokens import PasswordResetTokenGenerator

from annotations.models import Membership, User


class LinkTokens(PasswordResetTokenGenerator):
    """Django's tokens (void once used, after a sign-in, and in time), void also when the account's rights have changed.

    Whoever made the link may have had the right to enter the account as it was, and not as it has become.
    """

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        rights = Membership.objects.filter(user=user.pk, active=True).order_by("project_id")
        held = ",".join(f"{project}:{role}" for project, role in rights.values_list("project_id", "role"))
        staff = f"{user.is_staff}{user.is_superuser}"
        return f"{super()._make_hash_value(user, timestamp)}{held}{staff}"
