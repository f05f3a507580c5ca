"""POST requests about flags."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from annotations.core.access import Access
from annotations.core.requests import Request
from annotations.models import Document
from annotations.notes.services.flags import clear_flag, raise_flag
from annotations.notes.views.talk import Act, do, json_errors, needed_id


@sensitive_post_parameters()
@require_POST
@json_errors
def flag(request: Request, slug: str, pk: int) -> HttpResponse:
    """Raise (with `reason`, `text`) or clear (with `flag`) a flag, as `act` says."""
    return do(request, slug, pk, ACTS, anchor="#flags")


def _raise(access: Access, note: Document, data: Mapping[str, Any]) -> None:
    raise_flag(access=access, document=note, reason=data.get("reason"), text=data.get("text") or "")


def _clear(access: Access, note: Document, data: Mapping[str, Any]) -> None:
    clear_flag(access=access, document=note, flag=needed_id(data, "flag"))


ACTS: dict[str, Act] = {"raise": _raise, "clear": _clear}
