"""A cookie that recognizes a browser in which a person has signed in before.

The cookie alone gives no access. Failed sign-ins from a known browser are counted for that browser alone, so that
nobody can lock a colleague out with wrong passwords from another place. A new password makes all browsers of the
account unknown.
"""

from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, get_random_string, salted_hmac

from annotations.models import User

SALT = "deidreview.known-browsers"
DAYS = 180
# People who share a browser. Beyond this number, the person who signed in longest ago is forgotten.
PEOPLE_PER_BROWSER = 8


def known_as(request: HttpRequest, user: User) -> str | None:
    """Return the browser's name for this account, or None if this person has not signed in with the browser."""
    name, proof = _entries(request).get(str(user.pk), ("", ""))
    return name if name and constant_time_compare(proof, _proof(user, name)) else None


def remember(request: HttpRequest, response: HttpResponse, user: User) -> None:
    """Set the cookie that makes this browser known for this account."""
    name = known_as(request, user) or get_random_string(8)
    others = [(pk, entry) for pk, entry in _entries(request).items() if pk != str(user.pk)]
    entries = dict([*others, (str(user.pk), (name, _proof(user, name)))][-PEOPLE_PER_BROWSER:])
    response.set_cookie(
        settings.KNOWN_BROWSER_COOKIE_NAME,
        signing.dumps(entries, salt=SALT),
        max_age=DAYS * 24 * 3600,
        secure=settings.HTTPS,
        httponly=True,
        samesite="Lax",
    )


def _entries(request: HttpRequest) -> dict[str, tuple[str, str]]:
    try:
        read: Any = signing.loads(
            request.COOKIES.get(settings.KNOWN_BROWSER_COOKIE_NAME, ""), salt=SALT, max_age=DAYS * 24 * 3600
        )
    except signing.BadSignature:
        return {}
    return {pk: (name, proof) for pk, (name, proof) in read.items()}


def _proof(user: User, name: str) -> str:
    return salted_hmac(SALT, f"{user.pk}:{name}:{user.get_session_auth_hash()}", algorithm="sha256").hexdigest()[:32]
