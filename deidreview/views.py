"""Health, the error pages, and the two account pages that only explain; the rest belongs to an application."""

import logging

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from deidreview.answers import wants_json

log = logging.getLogger(__name__)
# When even the template of the 500 page fails.
LAST_RESORT = "<!doctype html><title>deidreview</title><h1>Something broke on our side</h1><p>Please try again.</p>"


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """For load balancers: says only whether the database answers."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        log.exception("the database does not answer")
        return JsonResponse({"status": "down"}, status=503)
    return JsonResponse({"status": "ok"})


def _error(request: HttpRequest, status: int, code: str, template: str, **context: object) -> HttpResponse:
    if wants_json(request):
        return JsonResponse({"error": code}, status=status)
    return render(request, template, context, status=status)


def _plain_error(request: HttpRequest, status: int, code: str, template: str) -> HttpResponse:
    """Without request and database: a template that needs neither."""
    if wants_json(request):
        return JsonResponse({"error": code}, status=status)
    try:
        return HttpResponse(render_to_string(template), status=status)
    except Exception:
        log.exception("the error page failed")
        return HttpResponse(LAST_RESORT, status=status)


@login_not_required
def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _plain_error(request, 400, "bad-request", "errors/400.html")


@login_not_required
def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    match = request.resolver_match
    outside = match is not None and match.app_name == "admin"
    return _error(request, 403, "forbidden", "errors/403.html", outside=outside)


@login_not_required
def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _error(request, 404, "not-found", "errors/404.html")


@login_not_required
def failed(request: HttpRequest) -> HttpResponse:
    return _plain_error(request, 500, "failed", "errors/500.html")


@login_not_required
def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _error(request, 403, "stale-page", "errors/csrf.html")


@login_not_required
def admin_home(request: HttpRequest, **_: object) -> HttpResponse:
    """In place of the admin's sign-in form, for whoever is signed in already."""
    return redirect("admin:index")


def admin_password_change(request: HttpRequest, **_: object) -> HttpResponse:
    return redirect("account_change_password")


@login_not_required
@require_safe
def signup_closed(request: HttpRequest) -> HttpResponse:
    return render(request, "account/signup_closed.html", status=403)


@login_not_required
@require_safe
def password_forgotten(request: HttpRequest) -> HttpResponse:
    """No mail server is assumed: a manager makes a one-time link."""
    return render(request, "account/password_reset.html", {"title": _("Forgotten password")})
