"""Events of API tokens."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class TokenEvent(TypedDict):
    token: int
    user: str
    scope: str


TOKEN_CREATED = Verb[TokenEvent]("token.created", _("created an API token"), reading=True)
TOKEN_REVOKED = Verb[TokenEvent]("token.revoked", _("revoked an API token"))
