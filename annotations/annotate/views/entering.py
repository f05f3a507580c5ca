"""What the views of annotating share: entering a project, and what scripts of the annotate page are told."""

from typing import Any, cast

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext

from annotations.core.access import Access, Can, enter
from annotations.models import User


def open_project(request: HttpRequest, slug: str) -> Access:
    """Return the project for an annotator. Raises Http404 and PermissionDenied as `access.enter` does."""
    # The middleware lets only signed-in users through.
    return enter(cast(User, request.user), slug, Can.ANNOTATE)


def note_address(slug: str, pk: int | None) -> dict[str, Any] | None:
    """Return the id of a note with the URLs of its page and of its JSON data; None without a note."""
    if pk is None:
        return None
    return {"id": pk, "url": reverse("annotate", args=[slug, pk]), "data": reverse("note_data", args=[slug, pk])}


def began_message(run: str) -> str:
    """Return the sentence for an annotation set that began from a run's spans; empty where it began without spans."""
    return gettext("Began from the spans of %(run)s.") % {"run": run} if run else ""
