"""The health checks, the metrics, the error pages and the ways into the admin."""

import logging
from functools import lru_cache

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST
from redis.exceptions import RedisError

from annotations.core.access import SecondFactorMissing, has_app
from annotations.core.requests import wants_fragment, wants_json
from annotations.core.services import ProjectArchived
from annotations.jobs.services import relay
from annotations.jobs.services.status import missing
from annotations.models import Job, User
from annotations.ops.services.backup import Migration, SchemaState, applied_migrations, compare, too_old
from deidreview.metrics import may_read, text

# Whether this instance can serve people: the database, its migrations, Redis and the workers.


OK = "ok"


class Health:
    """The state of each part: “ok”, or a word that says what is wrong. A warning alone leaves the instance ready."""

    def __init__(self) -> None:
        self.checks = {"database": OK, "migrations": OK, "redis": OK, "workers": OK}
        self.problems: list[str] = []
        self.warnings: list[str] = []
        self._database()
        self._redis()

    @property
    def ready(self) -> bool:
        return not self.problems

    def as_dict(self) -> dict[str, object]:
        return {
            "status": "ready" if self.ready else "not ready",
            "checks": self.checks,
            "problems": self.problems,
            "warnings": self.warnings,
        }

    def _problem(self, part: str, word: str, sentence: str) -> None:
        self.checks[part] = word
        self.problems.append(sentence)

    def _database(self) -> None:
        try:
            state = _schema(applied_migrations())
        except DatabaseError:
            self._problem("database", "down", _("The database does not answer."))
            self.checks["migrations"] = "unknown"
            # A broken connection is replaced at the next check.
            connection.close()
            return
        if state.before_releases:
            self._problem("migrations", "too-old", str(too_old(_("The database"))))
        elif state.newer:
            self._problem("migrations", "newer", _("The database belongs to a newer version of deidreview."))
        elif state.pending:
            self._problem("migrations", "pending", _("The database has no tables of this version yet: run “prepare”."))

    def _redis(self) -> None:
        try:
            relay.redis_connection().ping()
            alive = [queue for queue in Job.Queue.values if relay.states(queue)]
        except RedisError:
            self._problem("redis", "down", _("Redis does not answer, so no job starts."))
            self.checks["workers"] = "unknown"
            return
        if not alive:
            self.checks["workers"] = "none"
            self.warnings.append(missing(Job.Queue.CPU))


@lru_cache(maxsize=2)
def _schema(applied: frozenset[Migration]) -> SchemaState:
    """Compare only when the applied migrations have changed, since reading all migrations takes a tenth of a second."""
    return compare(applied)


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
    return _error_page(request, status, template, {"message": message, "status": status, **context})


def _error(request: HttpRequest, status: int, code: str, template: str, **context: object) -> HttpResponse:
    if wants_json(request):
        return JsonResponse({"error": code}, status=status)
    return _error_page(request, status, template, context)


def _error_page(request: HttpRequest, status: int, template: str, context: dict[str, object]) -> HttpResponse:
    """Render an error page without the menus of the project that the view had entered."""
    return render(request, template, {"access": None, **context}, status=status)


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
