"""The idempotency key of a form: sent twice, it asks for one thing."""

import uuid

from annotations.core.access import Access
from annotations.core.requests import Request


def form_key(request: Request, access: Access) -> str:
    """Made of the project, the person and the form's `token`; without a token it is new each time."""
    return f"{access.project.pk}-{access.user.pk}-{request.POST.get('token', '')[:36] or uuid.uuid4()}"
