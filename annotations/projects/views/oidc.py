"""Sign-in by OpenID Connect. The libraries are imported only when a provider is configured."""

import logging
from typing import TYPE_CHECKING, Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from annotations.models import ProviderSession
from annotations.projects.rules import OidcProvider
from annotations.projects.selectors.providers import provider_at
from annotations.projects.services.providers.signing_in import SignInRefused, end_sessions, sign_in
from annotations.projects.views.refusing import refused, unreachable

if TYPE_CHECKING:
    from annotations.projects.services.providers.oidc import Adapter

log = logging.getLogger("deidreview.sign_in")


@login_not_required
@require_safe
def login(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Lead to the provider. This changes nothing here, and the answer is bound to this browser, so GET is enough."""
    provider = provider_at(OidcProvider, provider_id)
    from annotations.projects.services.providers import oidc

    try:
        response: HttpResponse = oidc.Adapter(request, provider.id).get_provider().redirect_from_request(request)
        return response
    except (oidc.Unreachable, SignInRefused) as error:
        return unreachable(request, provider.id, str(error))


@login_not_required
@require_safe
def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Take the provider's answer: state, code, tokens, person."""
    provider = provider_at(OidcProvider, provider_id)
    from annotations.projects.services.providers import oidc

    try:
        adapter = oidc.Adapter(request, provider.id)
        state, state_id = _state(request, adapter)
        if request.GET.get("iss", provider.issuer) != provider.issuer:
            raise SignInRefused("The answer came from another issuer (RFC 9207).")
        if "code" not in request.GET:
            raise SignInRefused("The provider sent no code.")
        identity = oidc.identity_of(provider, oidc.exchanged(adapter, request, state), state_id)
        return sign_in(request, identity, state.get("next"))
    except oidc.Gone:
        return refused(request, provider.id, "The provider does not accept its own token.")
    except SignInRefused as error:
        return refused(request, provider.id, str(error))
    except oidc.Unreachable as error:
        return unreachable(request, provider.id, str(error))


def _state(request: HttpRequest, adapter: "Adapter") -> tuple[dict[str, Any], str]:
    """Return what this browser remembers of the sign-in that it began, once."""
    from allauth.socialaccount.internal import statekit

    state_id = request.GET.get("state", "")
    state = statekit.unstash_state(request, provider_id=adapter.get_provider().sub_id, state_id=state_id)
    if state is None:
        raise SignInRefused("The state belongs to no sign-in of this browser, or was used before.")
    return state, state_id


@login_not_required
@csrf_exempt
@require_POST
def back_channel_logout(request: HttpRequest, provider_id: str) -> HttpResponse:
    """End the sessions that the provider names (OpenID Connect Back-Channel Logout 1.0). Its token is the proof."""
    provider = provider_at(OidcProvider, provider_id)
    from annotations.projects.services.providers import oidc

    try:
        subject, sid = oidc.logged_out(provider, request.POST.get("logout_token"))
    except (SignInRefused, oidc.Unreachable) as error:
        log.warning("A logout token of the provider %s was refused: %s", provider.id, str(error))
        return HttpResponse(status=400)
    rows = ProviderSession.objects.filter(account__provider=provider.id)
    if subject:
        rows = rows.filter(account__subject=subject)
    if sid:
        rows = rows.filter(sid=sid)
    end_sessions(rows)
    return HttpResponse(status=200)
