"""The page after a sign-in that failed, which tells no details, and the line of the log, which does."""

import logging

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

log = logging.getLogger("deidreview.sign_in")


def refused(request: HttpRequest, provider: str, reason: str) -> HttpResponse:
    log.warning("A sign-in at the provider %s was refused: %s", provider, reason)
    return render(request, "projects/providers/refused.html", status=403)


def unreachable(request: HttpRequest, provider: str, reason: str) -> HttpResponse:
    log.warning("The provider %s gives no usable answer: %s", provider, reason)
    return render(request, "projects/providers/unreachable.html", status=502)
