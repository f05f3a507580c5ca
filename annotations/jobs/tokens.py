"""The idempotency key of a form, so that a form sent twice starts one job."""

import uuid

from django.http import HttpRequest

from annotations.core.access import Access


def form_token(request: HttpRequest) -> str:
    """Return the token of the form that was sent; empty without one."""
    return request.POST.get("token", "")[:36]


def form_key(request: HttpRequest, access: Access) -> str:
    """Return a key made from the project, the person and the form's `token`; without a token it is new each time."""
    return _key(access, form_token(request)) if form_token(request) else new_key(access)


def new_key(access: Access) -> str:
    """Return a key that nothing was started with yet."""
    return _key(access, str(uuid.uuid4()))


def _key(access: Access, token: str) -> str:
    return f"{access.project.pk}-{access.user.pk}-{token}"
