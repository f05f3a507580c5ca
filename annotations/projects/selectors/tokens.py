"""A person's tokens, for the page and the command."""

from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.access import lacks_second_factor
from annotations.models import ApiToken, Project, User


@dataclass(frozen=True)
class TokenLine:
    """A token as people see it: `state` is valid, expired or revoked."""

    row: ApiToken
    state: str

    @property
    def valid(self) -> bool:
        return self.state == "valid"

    @property
    def state_name(self) -> str:
        return {"valid": _("Valid"), "expired": _("Expired"), "revoked": _("Revoked")}[self.state]


def tokens_of(user: User) -> "QuerySet[ApiToken]":
    return ApiToken.objects.filter(user=user).select_related("project").order_by("-pk")


def line_of(row: ApiToken) -> TokenLine:
    if row.revoked_at is not None:
        return TokenLine(row, "revoked")
    return TokenLine(row, "valid" if row.expires_at > timezone.now() else "expired")


def projects_of(user: User) -> "QuerySet[Project]":
    """The projects of a person, without those that are closed until the person has a second factor."""
    found = Project.objects.filter(memberships__user=user, memberships__active=True).order_by("name", "pk")
    if lacks_second_factor(user):
        return found.none()
    return found.exclude(second_factor=True) if lacks_second_factor(user, wanted=True) else found
