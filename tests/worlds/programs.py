"""Programs that use the API with a token of a person."""

import json
from collections.abc import Mapping
from functools import partialmethod
from typing import Any

from django.http import HttpResponse
from django.test import Client

from annotations.core.api.tokens import create_token
from annotations.models import Project, User

PREFIX = "/api/v1"


class Program:
    """A client with a token; `token` is its row. Paths begin after /api/v1. Without a person, the token is unknown."""

    def __init__(self, user: User | None, scope: str = "manage", project: Project | None = None) -> None:
        self.secret = "deid_unknown"
        if user is not None:
            self.token, self.secret = create_token(
                user=user, name="program", scope=scope, days=1, project=project, actor=user
            )
        self._client = Client(raise_request_exception=False)

    def send(self, method: str, path: str, body: object = None, **headers: str) -> HttpResponse:
        """Send a JSON body, if any. Headers are named with underscores: `if_match`."""
        sent = b"" if body is None else json.dumps(body).encode()
        named = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        return self._client.generic(method, PREFIX + path, sent, content_type="application/json", headers=named)

    get = partialmethod(send, "GET")
    post = partialmethod(send, "POST")
    patch = partialmethod(send, "PATCH")
    delete = partialmethod(send, "DELETE")

    def upload(self, path: str, data: Mapping[str, Any]) -> HttpResponse:
        """Send a form with files."""
        return self._client.post(f"{PREFIX}{path}", data, headers=self.headers)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secret}"}


def lines_of(response: HttpResponse) -> list[Any]:
    """The rows of an answer as NDJSON."""
    assert response.headers["Content-Type"] == "application/x-ndjson"
    return [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]


def fields_of(answer: HttpResponse) -> list[str]:
    """The fields that an answer of the API calls wrong."""
    assert answer.status_code == 422, answer.content
    return [error["field"] for error in answer.json()["errors"]]
