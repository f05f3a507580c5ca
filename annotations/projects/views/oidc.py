"""Sign-in by OpenID Connect. `urls` imports this module at the first request."""

from typing import Any

from allauth.socialaccount.internal import statekit
from django.http import HttpRequest, HttpResponse

from annotations.models import ProviderSession
from annotations.projects.rules import OidcProvider
from annotations.projects.services.providers import oidc
from annotations.projects.services.providers.signing_in import Gone, SignInRefused, Unreachable, sign_in
from annotations.projects.views.providers import log


def login(request: HttpRequest, provider: OidcProvider) -> HttpResponse:
    """Lead to the provider. This changes nothing here, and the answer is bound to this browser, so GET is enough."""
    try:
        response: HttpResponse = oidc.Adapter(request, provider.id).get_provider().redirect_from_request(request)
        return response
    except SignInRefused as error:
        raise Unreachable(str(error)) from None


def callback(request: HttpRequest, provider: OidcProvider) -> HttpResponse:
    """Take the provider's answer: state, code, tokens, person."""
    adapter = oidc.Adapter(request, provider.id)
    state, state_id = _state(request, adapter)
    if request.GET.get("iss", provider.issuer) != provider.issuer:
        raise SignInRefused("The answer came from another issuer (RFC 9207).")
    if "code" not in request.GET:
        raise SignInRefused("The provider sent no code.")
    try:
        identity = oidc.identity_of(provider, oidc.exchanged(adapter, request, state), state_id)
    except Gone:
        raise SignInRefused("The provider does not accept its own token.") from None
    return sign_in(request, identity, state.get("next"))


def _state(request: HttpRequest, adapter: oidc.Adapter) -> tuple[dict[str, Any], str]:
    """Return what this browser remembers of the sign-in that it began, once."""
    state_id = request.GET.get("state", "")
    state = statekit.unstash_state(request, provider_id=adapter.get_provider().sub_id, state_id=state_id)
    if state is None:
        raise SignInRefused("The state belongs to no sign-in of this browser, or was used before.")
    return state, state_id


def back_channel_logout(request: HttpRequest, provider: OidcProvider) -> HttpResponse:
    """End the sessions that the provider names (OpenID Connect Back-Channel Logout 1.0). Its token is the proof."""
    try:
        subject, sid = oidc.logged_out(provider, request.POST.get("logout_token"))
    except (SignInRefused, Unreachable) as error:
        log.warning("A logout token of the provider %s was refused: %s", provider.id, str(error))
        return HttpResponse(status=400)
    rows = ProviderSession.objects.filter(account__provider=provider.id)
    if subject:
        rows = rows.filter(account__subject=subject)
    if sid:
        rows = rows.filter(sid=sid)
    rows.delete()
    return HttpResponse(status=200)
