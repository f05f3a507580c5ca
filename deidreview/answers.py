"""What kind of answer a request wants: a page, a fragment (htmx) or JSON (the annotate page's changes)."""

from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme


def wants_json(request: HttpRequest) -> bool:
    return (
        request.headers.get("Accept", "").startswith("application/json") or request.content_type == "application/json"
    )


def wants_fragment(request: HttpRequest) -> bool:
    return request.headers.get("HX-Request") == "true"


def _place(request: HttpRequest) -> str:
    """Where to come back to after signing in: the page that is on screen, as a path."""
    if not wants_fragment(request):
        return request.get_full_path() if request.method in ("GET", "HEAD") else ""
    url = request.headers.get("HX-Current-URL", "")
    if not url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure()):
        return ""
    return urlsplit(url).path


def ask_to_sign_in(request: HttpRequest) -> HttpResponse:
    """A redirect for pages; 401 for scripts, which must not take the sign-in page for an answer.

    htmx follows HX-Redirect whatever the status.
    """
    if wants_json(request):
        return JsonResponse({"error": "signed-out"}, status=401)
    place = _place(request)
    login = redirect_to_login(place).url if place else resolve_url(settings.LOGIN_URL)
    if wants_fragment(request):
        return HttpResponse(status=401, headers={"HX-Redirect": login})
    return HttpResponse(status=302, headers={"Location": login})
