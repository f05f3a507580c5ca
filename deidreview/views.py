"""The health checks, the metrics, the error pages and the ways into the admin."""

import logging

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from annotations.core.access import SecondFactorMissing, has_app
from annotations.core.locks import ProjectArchived
from annotations.core.requests import wants_fragment, wants_json
from annotations.models import User
from deidreview.health import Health
from deidreview.metrics import may_read, text

log = logging.getLogger(__name__)
# The page if even the template of the 500 page fails.
LAST_RESORT = "<!doctype html><title>deidreview</title><h1>Server error</h1><p>Please try again.</p>"


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Say that this process answers. Without the database, so that its outage does not restart web servers."""
    return JsonResponse({"status": "ok"})


@login_not_required
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Tell load balancers whether this instance can serve people."""
    health = Health()
    return JsonResponse(health.as_dict(), status=200 if health.ready else 503)


@login_not_required
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Figures for Prometheus, for the addresses and the token of the settings."""
    if not may_read(request):
        raise PermissionDenied
    return HttpResponse(text(), content_type=CONTENT_TYPE_LATEST)


def refusal(
    request: HttpRequest, status: int, code: str, message: str, template: str, **context: object
) -> HttpResponse:
    """Send the message as JSON for scripts, as plain text for htmx, which shows it above the page, or as a page."""
    if wants_json(request):
        return JsonResponse({"error": code, "message": message}, status=status)
    if wants_fragment(request):
        return HttpResponse(message, status=status, content_type="text/plain; charset=utf-8")
    return render(request, template, {"message": message, "status": status, **context}, status=status)


def _error(request: HttpRequest, status: int, code: str, template: str, **context: object) -> HttpResponse:
    if wants_json(request):
        return JsonResponse({"error": code}, status=status)
    return render(request, template, context, status=status)


def _plain_error(request: HttpRequest, status: int, code: str, template: str) -> HttpResponse:
    """Render an error page whose template needs neither request nor database."""
    if wants_json(request):
        return JsonResponse({"error": code}, status=status)
    try:
        return HttpResponse(render_to_string(template), status=status)
    except Exception:
        log.exception("The error page failed.")
        return HttpResponse(LAST_RESORT, status=status)


@login_not_required
def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _plain_error(request, 400, "bad-request", "errors/400.html")


@login_not_required
def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    match = request.resolver_match
    if isinstance(exception, ProjectArchived):
        slug = match.kwargs.get("slug", "") if match else ""
        return refusal(request, 403, "forbidden", str(exception), "errors/archived.html", slug=slug)
    if isinstance(exception, SecondFactorMissing):
        return second_factor_missing(request, exception)
    outside = match is not None and match.app_name == "admin"
    return _error(request, 403, "forbidden", "errors/403.html", outside=outside)


def second_factor_missing(request: HttpRequest, error: SecondFactorMissing) -> HttpResponse:
    """Lead the person to the page on which to show a second factor, or to set one up."""
    user = request.user
    back = request.get_full_path() if request.method == "GET" else ""
    has = isinstance(user, User) and has_app(user)
    return refusal(request, 403, error.code, str(error), "errors/second_factor.html", has_app=has, back=back)


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
    """Replace the admin's sign-in form for people who are signed in already."""
    return redirect("admin:index")


def admin_password_change(request: HttpRequest, **_: object) -> HttpResponse:
    return redirect("account_change_password")
