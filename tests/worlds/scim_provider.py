"""A provider that pushes accounts by SCIM, as a program that sends requests to the app."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse
from django.test import Client

TOKEN = "scim_" + "a" * 43
HASH = hashlib.sha256(TOKEN.encode()).hexdigest()
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"


@dataclass
class Pusher:
    """Sends requests of SCIM with a token. Answers are the app's."""

    provider: str = "idp"
    token: str = TOKEN
    client: Client = field(default_factory=Client)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        sent = body if isinstance(body, (bytes, str)) else b"" if body is None else json.dumps(body)
        kind = headers.pop("content_type", "application/scim+json")
        headers = {"Authorization": f"Bearer {self.token}", **headers}
        return self.client.generic(method, self.url(path), sent, content_type=kind, headers=headers)

    def get(self, path: str, **query: str) -> HttpResponse:
        return self.client.get(self.url(path), query, headers={"Authorization": f"Bearer {self.token}"})

    def url(self, path: str) -> str:
        return f"/scim/v2/{self.provider}/{path}"

    def push_user(self, user_name: str = "ada@hospital.example", key: str = "n-1", **more: Any) -> str:
        """Create a user. Return its id."""
        answer = self.send("POST", "Users", {"schemas": [USER], "userName": user_name, "externalId": key, **more})
        assert answer.status_code == 201, answer.content
        return str(answer.json()["id"])

    def push_group(self, name: str, *members: str) -> str:
        """Create a group with these users. Return its id."""
        body = {"schemas": [GROUP], "displayName": name, "members": [{"value": one} for one in members]}
        answer = self.send("POST", "Groups", body)
        assert answer.status_code == 201, answer.content
        return str(answer.json()["id"])

    def patch(self, path: str, *operations: dict[str, Any]) -> HttpResponse:
        return self.send("PATCH", path, {"schemas": [PATCH], "Operations": operations})

    def set_active(self, user: str, active: Any) -> HttpResponse:
        return self.patch(f"Users/{user}", {"op": "replace", "path": "active", "value": active})
