"""The backends: what each is, whether it could read a note now, its last run, its calibration."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotations.access import Can, enter
from annotations.views.requests import Request
from models_runtime.services.backend_rows import backend_rows


@require_safe
def backends(request: Request, slug: str) -> HttpResponse:
    access = enter(request.user, slug, Can.READ_NOTES)
    return render(request, "backends/backends.html", {"access": access, "rows": backend_rows(access.project)})
