"""The guide inside the app."""

import json
from functools import cache

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotations.core.api.mount import api
from annotations.core.requests import Request
from annotations.projects.selectors.help import FIRST, files, page_of


@require_safe
def page(request: Request, name: str = FIRST) -> HttpResponse:
    """A page of the guide. The guide is the same for everybody and holds no data."""
    if name not in files():
        raise Http404("The guide has no such page.")
    pages = [(each, page_of(each).title) for each in sorted(files(), key=lambda each: (each != FIRST, each))]
    return render(
        request, "projects/help/page.html", {"name": name, "guide": page_of(name), "pages": pages, "first": FIRST}
    )


# The description of the API: a page to read and try it, and the file for programs. Both say nothing about data.


@login_not_required
@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    # Deep links would be links inside buttons, which screen readers don't announce. Schemas are folded.
    settings = {"url": reverse("api_openapi"), "deepLinking": False, "defaultModelsExpandDepth": 0}
    return render(request, "projects/api/docs.html", {"settings": json.dumps(settings)})


@login_not_required
@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    return HttpResponse(_description(), content_type="application/json")


@cache
def _description() -> bytes:
    """The file, which is the same for everybody. Making it takes a second."""
    return JsonResponse(api().schema()).content
