"""OpenID Connect: allauth leads to the provider and exchanges the code; what comes back is verified here.

allauth reads an ID token without checking its signature where it came straight from the provider, and knows no nonce.
"""

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import jwt
import requests
from allauth.account.utils import get_next_redirect_url
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers import registry
from allauth.socialaccount.providers.oauth2.client import OAuth2Client, OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, salted_hmac

from annotations.core.sealing import instance_fernet, opened_by_instance
from annotations.projects.rules import OidcProvider, safe_address
from annotations.projects.selectors.providers import provider_of
from annotations.projects.services.providers.signing_in import Gone, Identity, SignInRefused, Unreachable, use_up

# ── Verifying tokens (OpenID Connect Core 1.0, section 3.1.3.7; Back-Channel Logout 1.0, section 2.6) ────────────────
# Only signatures that need the provider's private key: with “none” or HS256, anybody could write a token.
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
# Clocks may differ by this much (seconds).
DRIFT: Final = 60
LOGOUT_EVENT: Final = "http://schemas.openid.net/event/backchannel-logout"


def verified(
    token: object, *, keys: Mapping[str, Any], issuer: str, client_id: str, required: tuple[str, ...]
) -> dict[str, Any]:
    """Return the claims of a token for this client. Raises SignInRefused with the reason."""
    if not isinstance(token, str):
        raise SignInRefused("There is no token.")
    try:
        header = jwt.get_unverified_header(token)
        if header.get("alg") not in ALGORITHMS:
            raise SignInRefused("The token's algorithm is not allowed.")
        claims: dict[str, Any] = jwt.decode(
            token,
            key=_key(header, keys),
            algorithms=[header["alg"]],
            issuer=issuer,
            audience=client_id,
            leeway=DRIFT,
            options={"require": ["iss", "aud", "iat", *required], "verify_iat": True, "verify_sub": True},
        )
    except (jwt.PyJWTError, ValueError, TypeError, KeyError) as error:
        raise SignInRefused(f"The token is not valid: {type(error).__name__}.") from None
    audience = claims["aud"]
    if claims.get("azp", client_id) != client_id or (
        isinstance(audience, list) and len(audience) > 1 and "azp" not in claims
    ):
        raise SignInRefused("The token was issued to another client.")
    for name in ("sub", "sid"):
        if name in claims and (not isinstance(claims[name], str) or not claims[name]):
            raise SignInRefused(f"The token's {name} is not text.")
    return claims


def _key(header: Mapping[str, Any], keys: Mapping[str, Any]) -> Any:
    """Return the provider's key that the token names. The token's own `jwk`, `jku` and `x5u` say nothing."""
    usable = [one for one in keys.get("keys", []) if one.get("use", "sig") == "sig" and one.get("kty") != "oct"]
    if "kid" in header:
        usable = [one for one in usable if one.get("kid") == header["kid"]]
    if len(usable) != 1:
        raise SignInRefused("The provider has no such key.")
    key = jwt.PyJWK.from_json(json.dumps({**usable[0], "alg": usable[0].get("alg", header["alg"])}))
    if key.algorithm_name != header["alg"]:
        raise SignInRefused("The key is for another algorithm.")
    return key.key


# ── The provider ─────────────────────────────────────────────────────────────────────────────────────────────────────
WELL_KNOWN: Final = "/.well-known/openid-configuration"
# Descriptions and keys of a provider are read again after this time (seconds); keys sooner, if one is missing.
_KEPT, _KEYS_AGAIN = 300.0, 10.0
_SEALED: Final = "sign-in tokens"
_described: dict[str, tuple[float, dict[str, Any]]] = {}
_keys: dict[str, tuple[float, dict[str, Any]]] = {}


def _json(method: str, url: str, **more: Any) -> tuple[int, dict[str, Any]]:
    """Ask the provider. A redirect is not followed: it could lead a secret elsewhere."""
    try:
        with get_adapter().get_requests_session() as session:
            answer = session.request(method, url, allow_redirects=False, **more)
        found = answer.json() if answer.content else {}
    except (requests.RequestException, ValueError) as error:
        raise Unreachable(type(error).__name__) from None
    if not isinstance(found, dict):
        raise Unreachable("no JSON object")
    return answer.status_code, found


def _fetched(url: str) -> dict[str, Any]:
    status, found = _json("GET", url)
    if status != 200:
        raise Unreachable(f"status {status}")
    return found


def description(provider: OidcProvider) -> dict[str, Any]:
    """What the provider says of itself. Its issuer must be the configured one, and its addresses must be safe."""
    at, found = _described.get(provider.issuer, (float("-inf"), {}))
    if time.monotonic() - at > _KEPT:
        found = _fetched(provider.issuer.rstrip("/") + WELL_KNOWN)
        if found.get("issuer") != provider.issuer:
            raise SignInRefused("The provider describes another issuer.")
        needed = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        offered = [name for name in ("userinfo_endpoint",) if name in found]
        if not all(safe_address(str(found.get(name, ""))) for name in (*needed, *offered)):
            raise SignInRefused("The provider's description has an address without HTTPS.")
        _described[provider.issuer] = (time.monotonic(), found)
    return found


def keys(provider: OidcProvider, token: object) -> dict[str, Any]:
    """The provider's keys. They are read again if the token names a new one, but not at every such token."""
    at, found = _keys.get(provider.issuer, (float("-inf"), {}))
    age = time.monotonic() - at
    try:
        kid = jwt.get_unverified_header(str(token)).get("kid")
    except jwt.PyJWTError:
        kid = None
    missing = kid is not None and kid not in [one.get("kid") for one in found.get("keys", [])]
    if age > _KEPT or (missing and age > _KEYS_AGAIN):
        found = _fetched(str(description(provider)["jwks_uri"]))
        _keys[provider.issuer] = (time.monotonic(), found)
    return found


def nonce_of(state: str) -> str:
    """The nonce that belongs to a state. A state works once, in one browser, and so does its nonce."""
    return salted_hmac("deidreview.sign-in.nonce", state, algorithm="sha256").hexdigest()


class _Client(OAuth2Client):  # type: ignore[misc]  # its class has no types
    def get_redirect_url(self, authorization_url: str, scope: list[str], extra_params: dict[str, str]) -> str:
        url: str = super().get_redirect_url(
            authorization_url, scope, {**extra_params, "nonce": nonce_of(str(self.state))}
        )
        return url


class Adapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # its class has no types
    client_class = _Client

    @property
    def openid_config(self) -> dict[str, Any]:
        provider = provider_of(OidcProvider, self.provider_id)
        assert provider is not None
        return description(provider)


class Provider(OpenIDConnectProvider):  # type: ignore[misc]  # its class has no types
    pkce_enabled_default = True
    oauth2_adapter_class = Adapter

    def redirect_from_request(self, request: HttpRequest) -> HttpResponse:
        """Take nothing but the next page from the address: allauth would also take scopes and parameters."""
        response: HttpResponse = self.redirect(request, process="login", next_url=get_next_redirect_url(request))
        return response

    def get_scope(self) -> list[str]:
        """Ask for a token by which the relay can ask again, where the provider offers that scope."""
        provider = provider_of(OidcProvider, self.app.provider_id)
        assert provider is not None
        more = {"offline_access"} & set(description(provider).get("scopes_supported", []))
        return sorted({*provider.scopes, *more})


registry.register(Provider)


def identity_of(provider: OidcProvider, answer: Mapping[str, Any], state: str) -> Identity:
    """Return who signed in, from the answer to the code. Raises SignInRefused or Unreachable."""
    claims = _id_claims(provider, answer.get("id_token"), "exp", "sub", "nonce")
    if not constant_time_compare(str(claims["nonce"]), nonce_of(state)):
        raise SignInRefused("The token's nonce belongs to another sign-in.")
    until = datetime.fromtimestamp(claims["exp"], UTC)
    if not use_up("id token", f"{provider.id} {claims['nonce']}", until):
        raise SignInRefused("The token was used before.")
    claims |= _userinfo(provider, str(answer.get("access_token", "")), claims["sub"])
    token = {"refresh": answer.get("refresh_token", ""), "access": answer.get("access_token", "")}
    return _identity(provider, claims, _seal(token))


def _id_claims(provider: OidcProvider, token: object, *required: str) -> dict[str, Any]:
    return verified(
        token, keys=keys(provider, token), issuer=provider.issuer, client_id=provider.client_id, required=required
    )


def _userinfo(provider: OidcProvider, access: str, subject: str) -> dict[str, Any]:
    """What the provider tells about the person, who must be the one of the token (OIDC Core, section 5.3.2)."""
    url = description(provider).get("userinfo_endpoint")
    if not url:
        return {}
    status, found = _json("GET", str(url), headers={"Authorization": f"Bearer {access}"})
    if status in (401, 403):
        raise Gone
    if status != 200:
        raise Unreachable(f"status {status}")
    if found.get("sub") != subject:
        raise SignInRefused("The provider told about another person.")
    return {name: value for name, value in found.items() if name not in ("amr", "acr", "sid", "nonce", "exp")}


def _identity(provider: OidcProvider, claims: Mapping[str, Any], sealed: bytes) -> Identity:
    methods = claims.get("amr", [])
    shown = {claims.get("acr"), *(methods if isinstance(methods, list) else [methods])}
    return Identity(
        provider=provider.id,
        subject=claims["sub"],
        username=_text(claims.get(provider.username)),
        first_name=_text(claims.get("given_name")),
        last_name=_text(claims.get("family_name")),
        groups=groups_of(claims.get(provider.groups)),
        second_factor=bool(shown & set(provider.second_factor)),
        sid=_text(claims.get("sid")),
        sealed=sealed,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def groups_of(value: object) -> frozenset[str]:
    """The names of groups in a claim: a list of texts or one text. A claim that is missing means no group."""
    values = value if isinstance(value, list) else [value]
    return frozenset(one for one in values if isinstance(one, str) and one)


def _seal(token: Mapping[str, Any]) -> bytes:
    return instance_fernet(_SEALED).encrypt(json.dumps(token).encode())


def still_there(provider: OidcProvider, subject: str, sealed: bytes) -> tuple[frozenset[str], bytes]:
    """Ask whether the person may still be signed in. Return the groups and what to ask with next time.

    Raises Gone where the provider says no, and Unreachable or SignInRefused where it gives no usable answer.
    """
    token = json.loads(opened_by_instance(_SEALED, bytes(sealed)))
    claims: dict[str, Any] = {}
    if token["refresh"]:
        answer = _refreshed(provider, token["refresh"])
        if answer.get("id_token"):
            claims = _id_claims(provider, answer["id_token"], "exp", "sub")
            if claims["sub"] != subject:
                raise SignInRefused("The provider told about another person.")
        token = {"refresh": answer.get("refresh_token") or token["refresh"], "access": answer.get("access_token", "")}
    try:
        claims |= _userinfo(provider, token["access"], subject)
    except (Unreachable, SignInRefused) as error:
        # The provider may have replaced the token for asking again, so it must not be lost.
        raise Unreachable(str(error), _seal(token)) from None
    return groups_of(claims.get(provider.groups)), _seal(token)


def _refreshed(provider: OidcProvider, refresh: str) -> dict[str, Any]:
    asked = {"grant_type": "refresh_token", "refresh_token": refresh}
    if Adapter(None, provider.id).basic_auth:
        more: dict[str, Any] = {"auth": (provider.client_id, provider.client_secret)}
    else:
        more, asked = {}, {**asked, "client_id": provider.client_id, "client_secret": provider.client_secret}
    status, found = _json("POST", str(description(provider)["token_endpoint"]), data=asked, **more)
    if status == 400 and found.get("error") == "invalid_grant":
        raise Gone
    if status != 200 or not found.get("access_token"):
        raise Unreachable(f"status {status}")
    return found


def logged_out(provider: OidcProvider, token: object) -> tuple[str, str]:
    """Return the subject and the session that a logout token of the provider ends; one of them may be empty."""
    claims = _id_claims(provider, token, "jti", "exp")
    events = claims.get("events")
    if not isinstance(events, dict) or LOGOUT_EVENT not in events or "nonce" in claims:
        raise SignInRefused("This is not a logout token.")
    if not use_up("logout token", f"{provider.id} {claims['jti']}", datetime.fromtimestamp(claims["exp"], UTC)):
        raise SignInRefused("The logout token was used before.")
    subject, sid = _text(claims.get("sub")), _text(claims.get("sid"))
    if not subject and not sid:
        raise SignInRefused("The logout token names neither a person nor a session.")
    return subject, sid


def exchanged(adapter: Adapter, request: HttpRequest, state: Mapping[str, Any]) -> dict[str, Any]:
    """Exchange the code of the callback for tokens. allauth's error quotes the whole answer: it is dropped."""
    app = adapter.get_provider().app
    try:
        found: dict[str, Any] = adapter.get_access_token_data(
            request, app, adapter.get_client(request, app), pkce_code_verifier=state.get("pkce_code_verifier")
        )
    except (OAuth2Error, requests.RequestException, ValueError, KeyError):
        raise SignInRefused("The provider does not accept the code.") from None
    return found
