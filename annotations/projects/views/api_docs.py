"""The description of the API: a page to read and try it, and the file for programs. Both say nothing about data."""

import json
from functools import cache

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotations.core.api.mount import api


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
