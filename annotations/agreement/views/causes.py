"""Causes of disagreements and of errors: a script changes many in a batch, a form one."""

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from annotations.core.answers import json_answers
from annotations.core.batches import make_changes
from annotations.core.requests import Request, body_of, error_as_message, is_json
from annotations.models import CauseKind

CAUSES = [(kind.value, kind.label) for kind in CauseKind]
View = Callable[..., HttpResponse]


def changes_causes(view: View) -> View:
    """Decorate a view that answers with `answer_causes`: its errors are JSON for a script, and pages for a form."""
    for_script = json_answers(_("You don't have permission to name causes in this project."))(view)

    @wraps(view)
    def wrapped(request: Request, **kwargs: Any) -> HttpResponse:
        return (for_script if is_json(request) else view)(request, **kwargs)

    return require_POST(wrapped)


def answer_causes(
    request: Request, change: Callable[[str, str, bool], Collection[str]], *, action: str, back: str
) -> HttpResponse:
    """Add causes (`added`) to places (`at`), or remove them (`removed`), in the order of the request.

    `change` gets the place, the cause and whether it is added, and returns the causes that the place has then. The
    answer to a script has the buttons of each changed place; `action` is their address. A form goes `back`.
    """

    def read(data: Mapping[str, Any]) -> tuple[str, str, bool]:
        added = "added" in data
        return str(data.get("at", "")), str(data.get("added" if added else "removed", "")), added

    if not is_json(request):
        with error_as_message(request):
            change(*read(request.POST))
        return redirect(back)
    chosen: dict[str, Collection[str]] = {}
    _causes, said = make_changes(body_of(request), read, lambda one: chosen.update({one[0]: change(*one)}))
    shared = {"action": action, "causes": CAUSES, "may_tag": True}
    parts = {
        f"causes-{at}": render_to_string("includes/causes.html", shared | {"at": at, "chosen": kinds}, request)
        for at, kinds in chosen.items()
    }
    return JsonResponse({"outcomes": said, "parts": parts, "counts": {}})
