"""What the workbench's views share: who comes in, what came in, and refusals as JSON."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from annotations.core.access import Access, Can, enter
from annotations.core.changes import Refused
from annotations.models import User

View = Callable[..., HttpResponse]


def json_answers(view: View) -> View:
    """Refusals as JSON: {"error": code, "message": plain words} and, of a conflict, the reading as it is now."""

    @wraps(view)
    def wrapped(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, **kwargs)
        except Refused as refused:
            now = {"version": refused.version, "state": refused.state, "spans": refused.spans}
            body = {"error": refused.code, "message": str(refused)} | (now if refused.spans is not None else {})
            return JsonResponse(body, status=refused.status)
        except PermissionDenied:
            return JsonResponse(
                {"error": "forbidden", "message": _("You may not annotate in this project.")}, status=403
            )
        except Http404:
            return JsonResponse({"error": "not-found", "message": _("This note is not there for you.")}, status=404)

    return wrapped


def open_project(request: HttpRequest, slug: str) -> Access:
    """The project for somebody who annotates there; Http404 and PermissionDenied as `access.enter`."""
    # Nobody gets here without having signed in (SignInRequired).
    return enter(cast(User, request.user), slug, Can.ANNOTATE)


def note_address(slug: str, pk: int | None) -> dict[str, Any] | None:
    """Where a note is opened, as a page and as JSON."""
    if pk is None:
        return None
    return {"id": pk, "url": reverse("annotate", args=[slug, pk]), "data": reverse("note_data", args=[slug, pk])}


def began_words(run: str) -> str:
    """The word on a reading that began from a run's spans; empty for one that began from nothing."""
    return _("Began from the spans of %(run)s.") % {"run": run} if run else ""
