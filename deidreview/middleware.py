"""Headers for every answer, and the automatic logoff."""

import time
from collections.abc import Callable

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect

GetResponse = Callable[[HttpRequest], HttpResponse]
# A session row is rewritten at most this often: a span must not cost a second commit.
TOUCH_SECONDS = 60


def response_headers(get_response: GetResponse) -> GetResponse:
    """Nothing that holds note text may stay in a cache; powerful browser features are off."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if not request.path.startswith("/static/"):
            response.headers.setdefault("Cache-Control", "no-store")
        response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response

    return middleware


def idle_logoff(get_response: GetResponse) -> GetResponse:
    """Sign out whoever did nothing for IDLE_MINUTES (HIPAA, 45 CFR 164.312(a)(2)(iii): automatic logoff)."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if not request.user.is_authenticated:
            return get_response(request)
        now = int(time.time())
        seen = int(request.session.get("seen", now))
        if now - seen > settings.IDLE_MINUTES * 60:
            logout(request)
            if request.headers.get("Accept", "").startswith("application/json"):
                return JsonResponse({"error": "signed-out"}, status=401)
            messages.info(request, f"You were signed out after {settings.IDLE_MINUTES} minutes without activity.")
            response = redirect(settings.LOGIN_URL)
            if request.headers.get("HX-Request"):
                response = HttpResponse(status=200, headers={"HX-Redirect": response.url})
            return response
        if "seen" not in request.session or now - seen >= TOUCH_SECONDS:
            request.session["seen"] = now
        return get_response(request)

    return middleware
