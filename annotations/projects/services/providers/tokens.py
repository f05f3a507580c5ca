"""Verifying tokens of OpenID Connect (OpenID Connect Core 1.0, section 3.1.3.7; Back-Channel Logout 1.0, section 2.6).

allauth reads an ID token without checking its signature where it came straight from the provider, and knows no nonce.
Everything is checked here.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

import jwt

from annotations.projects.services.providers.identity import SignInRefused

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
            raise SignInRefused(f"The token's {name} is no text.")
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
