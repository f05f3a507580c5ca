"""A scripted OpenID Connect provider: a real HTTP server with discovery, keys, tokens and userinfo."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from annotations.projects.rules import OidcProvider

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CLIENT, SECRET, KID = "deidreview", "client secret", "key-1"
LOGOUT = "http://schemas.openid.net/event/backchannel-logout"


def signed(claims: dict[str, Any], key: Any = KEY, algorithm: str = "RS256", **headers: Any) -> str:
    return jwt.encode(claims, key, algorithm, headers={"kid": KID, **headers})


@dataclass
class Scripted:
    """The state of the provider, which tests change. `token` writes ID tokens; tests replace it to forge some."""

    issuer: str = ""
    person: dict[str, Any] = field(
        default_factory=lambda: {"sub": "s-1", "preferred_username": "ada", "given_name": "Ada", "groups": []}
    )
    userinfo: dict[str, Any] = field(default_factory=dict)
    description: dict[str, Any] = field(default_factory=dict)
    more_claims: dict[str, Any] = field(default_factory=dict)
    token: Callable[[dict[str, Any]], str] = signed
    removed: bool = False
    away: bool = False
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    refreshing: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    def claims(self, nonce: str | None = None) -> dict[str, Any]:
        now = int(time.time())
        more = {"nonce": nonce} if nonce else {}
        base = {"iss": self.issuer, "aud": CLIENT, "sub": self.person["sub"], "iat": now, "exp": now + 300}
        return {**base, **more, **self.person, **self.more_claims}

    def authorize(self, url: str) -> tuple[str, str]:
        """Do what a person does on the provider's page. Return the code and the state."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert query["response_type"] == "code" and query["client_id"] == CLIENT
        assert query["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        return code, query["state"]

    def answer(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        if form.get("client_secret") != SECRET:
            return 401, {"error": "invalid_client"}
        if form["grant_type"] == "refresh_token":
            if self.removed or form["refresh_token"] not in self.refreshing:
                return 400, {"error": "invalid_grant"}
            self.refreshing.remove(form["refresh_token"])
            return 200, self._tokens(None)
        asked = self.codes.pop(form.get("code", ""), None)
        if asked is None or form.get("redirect_uri") != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        return 200, self._tokens(asked.get("nonce"))

    def _tokens(self, nonce: str | None) -> dict[str, Any]:
        refresh = f"refresh-{time.monotonic_ns()}"
        self.refreshing.add(refresh)
        access = {"access_token": "access", "token_type": "Bearer", "refresh_token": refresh}
        return access | {"id_token": self.token(self.claims(nonce))}

    def settings(self, **more: Any) -> OidcProvider:
        wanted = {"id": "idp", "name": "Hospital", "issuer": self.issuer, "client_id": CLIENT, "client_secret": SECRET}
        return OidcProvider(**{**wanted, **more})


def key_set() -> dict[str, Any]:
    return {"keys": [{**json.loads(RSAAlgorithm.to_jwk(KEY.public_key())), "kid": KID, "use": "sig", "alg": "RS256"}]}


class _Handler(BaseHTTPRequestHandler):
    scripted: Scripted

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        here, at = self.scripted, self.scripted.issuer
        here.asked.append(self.path)
        if here.away:
            self._send(503, {})
        elif self.path == "/.well-known/openid-configuration":
            described = {
                "issuer": at, "authorization_endpoint": f"{at}/authorize", "token_endpoint": f"{at}/token",
                "userinfo_endpoint": f"{at}/userinfo", "jwks_uri": f"{at}/keys",
                "scopes_supported": ["openid", "offline_access"],
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            }  # fmt: skip
            self._send(200, {**described, **here.description})
        elif self.path == "/keys":
            self._send(200, key_set())
        elif self.path == "/userinfo" and not here.removed and self.headers["Authorization"] == "Bearer access":
            self._send(200, {**here.person, **here.userinfo})
        else:
            self._send(401, {})

    def do_POST(self) -> None:
        self.scripted.asked.append(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        self._send(*((503, {}) if self.scripted.away else self.scripted.answer(form)))

    def log_message(self, *_: Any) -> None:
        pass


class Server:
    """The server on a free port of this machine. Tests share it, and each starts with a fresh `scripted`."""

    def __init__(self) -> None:
        self._handler = type("Handler", (_Handler,), {})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def fresh(self) -> Scripted:
        scripted = Scripted(issuer=f"http://127.0.0.1:{self._server.server_port}")
        self._handler.scripted = scripted
        return scripted

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
