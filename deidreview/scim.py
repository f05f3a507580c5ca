"""The way of a request of SCIM, by which a provider pushes accounts: token, limits, route, and errors of SCIM.

Requests below /scim/ end here. No session, cookie or CSRF token plays a part, so none of that middleware runs for them.
"""

import re
import zlib
from typing import Any, Final

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import resolve

from annotations.core.api.routes import Problem
from annotations.core.services import LimitReached
from annotations.projects.rules import ProvisioningProvider
from annotations.projects.services.providers.scim import errors
from annotations.projects.services.providers.scim.errors import provider_with
from deidreview import REQUEST_BYTES
from deidreview.api import ProgramEntrance, bearer, count_request, refuse_stranger, size_of
from deidreview.boundary import check_head
from deidreview.limits import Windows

_ADDRESS: Final = re.compile(r"/scim/v2/([a-z0-9-]{1,40})(?:/|\Z)")
# Requests of each provider.
provider_windows = Windows()


class Scim(ProgramEntrance):
    below = "/scim/"

    def _told(self, error: Exception) -> HttpResponse | None:
        return errors.error_of(error)

    def _finished(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        told = response.status_code < 400 or response.headers.get("Content-Type") == errors.MEDIA_TYPE
        return response if told else errors.plain(response)

    def _answer(self, request: HttpRequest) -> HttpResponseBase:
        check_head(request)
        provider = _with_token(request)
        slot = zlib.crc32(provider.id.encode())
        count_request(provider_windows.count(slot), settings.REQUESTS_PER_WINDOW)
        # Numbers of people are positive.
        who = -1 - slot
        if not self._threads.take(who):
            raise LimitReached("The provider sent too many requests at once.", code="requests", retry_after=1)
        try:
            return _route(request, provider)
        finally:
            self._threads.give_back(who)


def _with_token(request: HttpRequest) -> ProvisioningProvider:
    """Return the provider whose token came with the request to its address. Raises Problem (401) without one."""
    found = _ADDRESS.match(request.path_info)
    provider = provider_with(found[1], bearer(request.headers)) if found else None
    if provider is None:
        refuse_stranger(request, "Send the token of the provider in the header Authorization: Bearer.")
    return provider


def _route(request: HttpRequest, provider: ProvisioningProvider) -> HttpResponseBase:
    """Check the size before the body is read, and call the view of the address."""
    if size_of(request) > REQUEST_BYTES:
        raise Problem(413, "too-large", f"The request is too large. At most {REQUEST_BYTES} bytes are allowed.")
    match = resolve(request.path_info)
    if match.kwargs.get("provider_id") != provider.id:
        raise Http404
    request.resolver_match = match
    with_provider: Any = request
    with_provider.provider = provider
    response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return response
