"""The page of backends, with their health, last run and calibration."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotations.core.access import Can, enter
from annotations.core.requests import Request
from models_runtime.runs.services.backend_rows import backend_rows


@require_safe
def backends(request: Request, slug: str) -> HttpResponse:
    access = enter(request.user, slug, Can.READ_NOTES)
    return render(request, "runs/backends.html", {"access": access, "rows": backend_rows(access.project)})
