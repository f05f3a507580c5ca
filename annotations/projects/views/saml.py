"""Sign-in by SAML. `urls` imports this module at the first request."""

from allauth.account.utils import get_next_redirect_url
from allauth.core.internal import httpkit
from allauth.socialaccount.internal import statekit
from allauth.socialaccount.sessions import LoginSession
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from annotations.models import ProviderSession
from annotations.projects.rules import SamlProvider
from annotations.projects.services.providers import saml
from annotations.projects.services.providers.signing_in import SignInRefused, sign_in

# The session in which a verified response waits for the browser to come back.
_KEPT = ("saml_acs_session", "saml-acs-session")


def login(request: HttpRequest, provider: SamlProvider) -> HttpResponse:
    """Lead to the provider. This changes nothing here, and the answer is bound to this browser, so GET is enough."""
    auth = saml.auth_for(request, provider)
    url = auth.login(return_to="")
    state = {"next": get_next_redirect_url(request)}
    statekit.stash_state(request, provider_id=provider.id, state=state, state_id=auth.get_last_request_id())
    return HttpResponseRedirect(url)


def acs(request: HttpRequest, provider: SamlProvider) -> HttpResponse:
    """Take the provider's response. It comes from another site, so the browser sends no session cookie with it.

    A response that is verified is kept for a moment, and the browser comes back with its cookies.
    """
    saml.verified(request, provider)
    response = HttpResponseRedirect(reverse("saml_finish_acs", args=[provider.id]))
    kept = LoginSession(request, *_KEPT)
    kept.store.update({"request": httpkit.serialize_request(request)})
    kept.store.set_expiry(60)
    kept.save(response)
    return response


def finish(request: HttpRequest, provider: SamlProvider) -> HttpResponse:
    """Finish the sign-in that this browser began: the response must answer its request, and works once."""
    kept = LoginSession(request, *_KEPT)
    posted = kept.store.get("request")
    kept.delete()
    if not posted:
        raise SignInRefused("There is no response to finish.")
    response = saml.verified(httpkit.deserialize_request(posted, HttpRequest()), provider)
    state = statekit.unstash_state(request, provider_id=provider.id, state_id=response.request_id)
    if state is None:
        raise SignInRefused("The response answers no request of this browser, or was used before.")
    saml.use_up_response(provider, response)
    return sign_in(request, response.identity, state.get("next"))


def sls(request: HttpRequest, provider: SamlProvider) -> HttpResponse:
    """End the sessions that the provider's signed request names, in all browsers, and lead back to the provider."""
    ended = saml.logged_out(request, provider)
    rows = ProviderSession.objects.filter(account__provider=provider.id, name_id=ended.name_id)
    (rows.filter(sid__in=ended.sids) if ended.sids else rows).delete()
    return HttpResponseRedirect(ended.back or reverse("account_login"))


def metadata(request: HttpRequest, provider: SamlProvider) -> HttpResponse:
    """Our metadata, for the provider."""
    return HttpResponse(saml.metadata_of(request, provider), content_type="application/samlmetadata+xml")
