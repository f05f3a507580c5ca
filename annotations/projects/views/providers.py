"""How requests reach the views of providers, whose libraries are imported at the first request."""

import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from annotations.projects.rules import Provider
from annotations.projects.selectors.providers import provider_of
from annotations.projects.services.providers.signing_in import SignInRefused, Unreachable

View = Callable[..., HttpResponse]

log = logging.getLogger("deidreview.sign_in")


def signing_in(kind: type[Provider], name: str, *methods: str) -> View:
    """Return the view `module.function` for the provider that the address names. Raises Http404 if there is none.

    After a sign-in that failed, the page tells no details, and the line of the log does. What comes from another site
    has no CSRF token; each of these views checks what is sent by itself.
    """

    @login_not_required
    @csrf_exempt
    @require_http_methods(methods)
    def view(request: HttpRequest, provider_id: str) -> HttpResponse:
        provider = provider_of(kind, provider_id)
        if provider is None:
            raise Http404("There is no such provider.")
        try:
            return _view(name)(request, provider)
        except SignInRefused as error:
            log.warning("A sign-in at the provider %s was refused: %s", provider.id, str(error))
            return render(request, "projects/providers/refused.html", status=403)
        except Unreachable as error:
            log.warning("The provider %s gives no usable answer: %s", provider.id, str(error))
            return render(request, "projects/providers/unreachable.html", status=502)

    return view


def scim(name: str) -> View:
    """Return a view of SCIM. The middleware deidreview.scim has found the provider by its token."""

    @login_not_required
    @csrf_exempt
    def view(request: HttpRequest, provider_id: str, **of_address: Any) -> HttpResponse:
        return _view(f"scim.{name}")(request, **of_address)

    return view


def _view(name: str) -> View:
    module, _, function = name.partition(".")
    found: View = getattr(import_module(f"annotations.projects.views.{module}"), function)
    return found
