"""Sign-in by SAML. The libraries are imported only when a provider is configured."""

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from annotations.models import ProviderSession
from annotations.projects.rules import SamlProvider
from annotations.projects.selectors.providers import provider_at
from annotations.projects.services.providers.signing_in import SignInRefused, end_sessions, sign_in
from annotations.projects.views.refusing import refused


@login_not_required
@require_safe
def login(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Lead to the provider. This changes nothing here, and the answer is bound to this browser, so GET is enough."""
    provider = provider_at(SamlProvider, provider_id)
    from allauth.account.utils import get_next_redirect_url
    from allauth.socialaccount.internal import statekit

    from annotations.projects.services.providers import saml

    try:
        auth = saml.auth_for(request, provider)
        url = auth.login(return_to="")
    except SignInRefused as error:
        return refused(request, provider.id, str(error))
    statekit.stash_state(
        request,
        provider_id=provider.id,
        state={"next": get_next_redirect_url(request)},
        state_id=auth.get_last_request_id(),
    )
    return HttpResponseRedirect(url)


@login_not_required
@csrf_exempt
@require_POST
def acs(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Take the provider's response. It comes from another site, so the browser sends no session cookie with it.

    A response that is verified is kept for a moment, and the browser comes back with its cookies.
    """
    provider = provider_at(SamlProvider, provider_id)
    from allauth.core.internal import httpkit

    from annotations.projects.services.providers import saml

    try:
        saml.verified(request, provider)
    except SignInRefused as error:
        return refused(request, provider.id, str(error))
    response = HttpResponseRedirect(reverse("saml_finish_acs", args=[provider.id]))
    kept = _kept(request)
    kept.store.update({"request": httpkit.serialize_request(request)})
    kept.store.set_expiry(60)
    kept.save(response)
    return response


def _kept(request: HttpRequest) -> Any:
    from allauth.socialaccount.sessions import LoginSession

    return LoginSession(request, "saml_acs_session", "saml-acs-session")


@login_not_required
@require_safe
def finish(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Finish the sign-in that this browser began: the response must answer its request, and works once."""
    provider = provider_at(SamlProvider, provider_id)
    from allauth.core.internal import httpkit
    from allauth.socialaccount.internal import statekit

    from annotations.projects.services.providers import saml

    kept = _kept(request)
    posted = kept.store.get("request")
    kept.delete()
    try:
        if not posted:
            raise SignInRefused("There is no response to finish.")
        response = saml.verified(httpkit.deserialize_request(posted, HttpRequest()), provider)
        state = statekit.unstash_state(request, provider_id=provider.id, state_id=response.request_id)
        if state is None:
            raise SignInRefused("The response answers no request of this browser, or was used before.")
        saml.use_up_response(provider, response)
        return sign_in(request, response.identity, state.get("next"))
    except SignInRefused as error:
        return refused(request, provider.id, str(error))


@login_not_required
@require_safe
def sls(request: HttpRequest, provider_id: str) -> HttpResponse:
    """End the sessions that the provider's signed request names, in all browsers, and lead back to the provider."""
    provider = provider_at(SamlProvider, provider_id)
    from annotations.projects.services.providers import saml

    try:
        ended = saml.logged_out(request, provider)
    except SignInRefused as error:
        return refused(request, provider.id, str(error))
    rows = ProviderSession.objects.filter(account__provider=provider.id, name_id=ended.name_id)
    end_sessions(rows.filter(sid__in=ended.sids) if ended.sids else rows)
    return HttpResponseRedirect(ended.back or reverse("account_login"))


@login_not_required
@require_safe
def metadata(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Our metadata, for the provider."""
    provider = provider_at(SamlProvider, provider_id)
    from annotations.projects.services.providers import saml

    try:
        return HttpResponse(saml.metadata_of(request, provider), content_type="application/samlmetadata+xml")
    except SignInRefused as error:
        return refused(request, provider.id, str(error))
