"""Sign-in by OpenID Connect with a real server: what works, and every forged or replayed token that is refused."""

import base64
import hashlib
import hmac
import json
import time
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from django.contrib.auth import get_user
from django.test import Client

from annotations.models import ProviderAccount, ProviderSession, User
from annotations.projects.services.providers import oidc
from tests.factories import make_user
from tests.worlds.oidc_provider import CLIENT, KEY, KID, LOGOUT, OTHER_KEY, signed

LOGIN, CALLBACK, LOGOUT_URL = "/accounts/oidc/idp/", "/accounts/oidc/idp/callback/", "/accounts/oidc/idp/logout"


def begin(client: Client, idp, query: str = "") -> tuple[str, str]:
    return idp.authorize(client.get(LOGIN + query).headers["Location"])


def sign_in(client: Client, idp, query: str = ""):
    code, state = begin(client, idp, query)
    return client.get(CALLBACK, {"code": code, "state": state})


def test_the_first_sign_in_makes_an_account(client, idp):
    assert sign_in(client, idp).headers["Location"] == "/"
    user = get_user(client)
    assert (user.username, user.first_name, user.email, user.has_usable_password()) == ("ada", "Ada", "", False)
    client.post("/accounts/logout/")
    assert not ProviderSession.objects.exists()
    sign_in(client, idp)
    assert get_user(client).pk == user.pk and User.objects.count() == 1


def test_the_request_asks_for_a_nonce_a_proof_and_a_token_to_ask_again(client, idp):
    query = parse_qs(urlsplit(client.get(LOGIN + "?scope=admin&auth_params=nonce%3Dx").headers["Location"]).query)
    assert set(query["scope"][0].split()) == {"openid", "profile", "offline_access"}
    assert query["nonce"][0] == oidc.nonce_of(query["state"][0]) and query["code_challenge"]


def test_the_next_page_is_one_of_ours(client, idp):
    for url, page in (("/projects/p/notes/?x=1", "/projects/p/notes/?x=1"), ("//evil.example/", "/")):
        assert sign_in(client, idp, f"?{urlencode({'next': url})}").headers["Location"] == page


@pytest.mark.parametrize("name", ["ada", "ADA"])
def test_nobody_takes_over_a_local_account(client, idp, name):
    local = make_user(name, email="ada@hospital.example")
    idp.person |= {"email": "ada@hospital.example", "email_verified": True}
    sign_in(client, idp)
    assert get_user(client).pk != local.pk and get_user(client).username == "ada@idp"
    assert not ProviderAccount.objects.filter(user=local).exists()


# ── Forged tokens: each is one that the token endpoint answers with ──────────────────────────────────────────────────

PUBLIC = KEY.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def encoded(value: bytes) -> bytes:
    return base64.urlsafe_b64encode(value).rstrip(b"=")


def with_public_key_as_secret(claims):
    """HS256 with the public key: a library that lets the token choose would verify it. PyJWT refuses to write it."""
    head = json.dumps({"alg": "HS256", "typ": "JWT", "kid": KID}).encode()
    text = encoded(head) + b"." + encoded(json.dumps(claims).encode())
    return (text + b"." + encoded(hmac.new(PUBLIC, text, hashlib.sha256).digest())).decode()


def changed(token: str) -> str:
    head, _body, mark = token.split(".")
    claims = jwt.decode(token, options={"verify_signature": False}) | {"sub": "s-2"}
    return ".".join([head, encoded(json.dumps(claims).encode()).decode(), mark])


def with_a_number(claims):
    """PyJWT refuses to write a `sub` that is a number."""
    return jwt.api_jws.encode(json.dumps(claims | {"sub": 1}).encode(), KEY, "RS256", headers={"kid": KID})


def without(claims, name):
    return {key: value for key, value in claims.items() if key != name}


OTHER_JWK = jwt.PyJWK.from_json(jwt.algorithms.RSAAlgorithm.to_jwk(OTHER_KEY.public_key()))._jwk_data
NOW = int(time.time())
FORGED = {
    "wrong issuer": lambda c: signed(c | {"iss": "https://evil.example"}),
    "issuer with a slash": lambda c: signed(c | {"iss": c["iss"] + "/"}),
    "wrong audience": lambda c: signed(c | {"aud": "another"}),
    "several audiences without azp": lambda c: signed(c | {"aud": [CLIENT, "another"]}),
    "another authorized party": lambda c: signed(c | {"azp": "another"}),
    "expired": lambda c: signed(c | {"exp": NOW - 3600, "iat": NOW - 7200}),
    "not yet valid": lambda c: signed(c | {"nbf": NOW + 3600}),
    "issued in the future": lambda c: signed(c | {"iat": NOW + 3600}), "no expiry": lambda c: signed(without(c, "exp")),
    "algorithm none": lambda c: jwt.encode(c, None, "none", headers={"kid": KID}),
    "HS256 with the public key": with_public_key_as_secret,
    "HS256 with the client's secret": lambda c: jwt.encode(c, "client secret" * 4, "HS256", headers={"kid": KID}),
    "another key": lambda c: signed(c, OTHER_KEY), "unknown kid": lambda c: signed(c, OTHER_KEY, kid="key-2"),
    "its own key in the header": lambda c: signed(c, OTHER_KEY, jwk=OTHER_JWK),
    "another algorithm than the key's": lambda c: signed(c, KEY, "PS256"),
    "changed claims": lambda c: changed(signed(c)), "no signature": lambda c: signed(c).rsplit(".", 1)[0] + ".",
    "no nonce": lambda c: signed(without(c, "nonce")),
    "nonce of another sign-in": lambda c: signed(c | {"nonce": oidc.nonce_of("another")}),
    "missing sub": lambda c: signed(without(c, "sub")), "sub that is a number": with_a_number,
    "endless sub": lambda c: signed(c | {"sub": "s" * 300}), "no token": lambda c: "",
}  # fmt: skip


@pytest.mark.parametrize("kind", FORGED)
def test_a_forged_token_is_refused(client, idp, kind, caplog):
    idp.token = FORGED[kind]
    if kind == "endless sub":
        idp.userinfo = {"sub": "s" * 300}
    answer = sign_in(client, idp)
    assert answer.status_code == 403 and b"Sign-in failed" in answer.content
    assert not get_user(client).is_authenticated and not User.objects.exists()
    assert "refused" in caplog.text and "eyJ" not in caplog.text and "client secret" not in caplog.text


def test_a_token_of_an_earlier_sign_in_is_refused(client, idp):
    sign_in(client, idp)
    kept = idp.token(idp.claims(oidc.nonce_of("earlier")))
    client.post("/accounts/logout/")
    idp.token = lambda claims: kept
    assert sign_in(client, idp).status_code == 403


def test_a_state_works_once_in_one_browser(client, idp):
    code, state = begin(client, idp)
    assert Client().get(CALLBACK, {"code": code, "state": state}).status_code == 403  # another browser
    assert client.get(CALLBACK, {"code": code, "state": state}).status_code == 302
    client.post("/accounts/logout/")
    assert client.get(CALLBACK, {"code": code, "state": state}).status_code == 403
    for forged in ({}, {"state": ""}, {"state": "forged"}):
        assert client.get(CALLBACK, {"code": "code-0", **forged}).status_code == 403


def test_a_code_works_once_and_only_for_the_browser_that_asked(client, idp):
    code, _ = begin(client, idp)
    other = Client()
    _, state = begin(other, idp)
    # The proof (PKCE) is another browser's.
    assert other.get(CALLBACK, {"code": code, "state": state}).status_code == 403 and not User.objects.exists()


def test_errors_and_answers_of_and_about_others_are_refused(client, idp):
    code, state = begin(client, idp)
    assert client.get(CALLBACK, {"code": code, "state": state, "iss": "https://evil.example"}).status_code == 403
    _, state = begin(client, idp)
    assert client.get(CALLBACK, {"error": "access_denied", "state": state}).status_code == 403
    idp.userinfo = {"sub": "s-2"}
    assert sign_in(client, idp).status_code == 403 and not User.objects.exists()


def test_a_provider_that_lies_about_itself_or_is_away_is_a_page(client, idp):
    evil = "http://evil.example/token"
    for lie in ({"issuer": "https://evil.example"}, {"token_endpoint": evil}, {"jwks_uri": ""}):
        idp.description = lie
        assert client.get(LOGIN).status_code == 502
    idp.away = True
    page = client.get(LOGIN)
    assert page.status_code == 502 and b"does not answer" in page.content


# ── Sessions that the provider ends ──────────────────────────────────────────────────────────────────────────────────


def logout_token(idp, **more):
    now = int(time.time())
    claims = {
        "iss": idp.issuer, "aud": CLIENT, "iat": now, "exp": now + 120, "jti": f"j-{time.monotonic_ns()}",
        "sub": "s-1", "events": {LOGOUT: {}},
    }  # fmt: skip
    return {k: v for k, v in (claims | more).items() if v is not None}


def test_the_provider_ends_one_session_or_all_of_a_person(idp):
    browsers = [Client(), Client(), Client()]
    for browser, sid in zip(browsers, ("one", "two", "three"), strict=True):
        idp.more_claims = {"sid": sid}
        sign_in(browser, idp)
    for about, left in (({"sub": None, "sid": "one"}, [302, 200, 200]), ({}, [302, 302, 302])):
        token = signed(logout_token(idp, **about))
        for status in (200, 400):  # it works once
            assert Client().post(LOGOUT_URL, {"logout_token": token}).status_code == status
        assert [browser.get("/help/").status_code for browser in browsers] == left


FORGED_LOGOUT = {
    "another key": lambda idp: signed(logout_token(idp), OTHER_KEY),
    "algorithm none": lambda idp: jwt.encode(logout_token(idp), None, "none"),
    "another audience": lambda idp: signed(logout_token(idp, aud="another")),
    "expired": lambda idp: signed(logout_token(idp, exp=NOW - 3600)),
    "an ID token": lambda idp: signed(idp.claims("nonce")),
    "with a nonce": lambda idp: signed(logout_token(idp, nonce="n")),
    "without event": lambda idp: signed(logout_token(idp, events=None)),
    "without jti": lambda idp: signed(logout_token(idp, jti=None)),
    "without person and session": lambda idp: signed(logout_token(idp, sub=None)),
}


@pytest.mark.parametrize("kind", FORGED_LOGOUT)
def test_a_forged_logout_token_ends_nothing(client, idp, kind):
    sign_in(client, idp)
    answer = Client().post(LOGOUT_URL, {"logout_token": FORGED_LOGOUT[kind](idp)})
    assert answer.status_code == 400 and client.get("/help/").status_code == 200
