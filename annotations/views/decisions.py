"""What the scripts of review and of adjudication send: a JSON object, read field by field."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from annotations.access import Access
from annotations.services.changes import MAX_NUMBER, MAX_OFFSET
from annotations.services.errors import ServiceError
from annotations.views.requests import Request


def body_of(request: Request) -> dict[str, Any]:
    """The request's JSON object. Raises ServiceError (`malformed`), as all of these do, naming the field."""
    try:
        data = json.loads(request.body)
    except (ValueError, RecursionError):
        raise malformed("body", "JSON") from None
    if not isinstance(data, dict):
        raise malformed("body", "a JSON object")
    return data


def malformed(field: str, takes: str) -> ServiceError:
    return ServiceError(f"the field {field!r} must be {takes}", code="malformed")


def same_person(access: Access, data: dict[str, Any]) -> None:
    """A page of somebody who is no longer signed in must not decide as somebody else."""
    if data.get("person") != access.user.pk:
        raise ServiceError(_("somebody else is signed in now; nothing was saved"), code="person")


def change_id_of(data: dict[str, Any]) -> UUID:
    try:
        return UUID(str(data.get("change_id")))
    except ValueError:
        raise malformed("change_id", "a UUID") from None


def place_of(values: Sequence[object]) -> tuple[int, int, int]:
    """A span's start, end and label id."""
    start, end, label = values
    return whole(start, "start", MAX_OFFSET), whole(end, "end", MAX_OFFSET), whole(label, "label", MAX_NUMBER)


def whole(value: object, field: str, most: int) -> int:
    """A whole number from 0 to `most`."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise malformed(field, "a whole number, 0 or more")
    return value
