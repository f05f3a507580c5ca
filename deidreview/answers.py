"""The response to a person who is not signed in: a redirect for pages, 401 for scripts."""

from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme

from annotations.core.requests import wants_fragment, wants_json


def _return_path(request: HttpRequest) -> str:
    """Return the path of the page on screen, to which the person returns after signing in."""
    if not wants_fragment(request):
        return request.get_full_path() if request.method in ("GET", "HEAD") else ""
    url = request.headers.get("HX-Current-URL", "")
    if not url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure()):
        return ""
    return urlsplit(url).path


def ask_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect pages to the sign-in page. Scripts get 401, so that they don't take the sign-in page for a response.

    htmx follows HX-Redirect whatever the status is.
    """
    if wants_json(request):
        return JsonResponse({"error": "signed-out"}, status=401)
    path = _return_path(request)
    login = redirect_to_login(path).url if path else resolve_url(settings.LOGIN_URL)
    if wants_fragment(request):
        return HttpResponse(status=401, headers={"HX-Redirect": login})
    return HttpResponse(status=302, headers={"Location": login})
