"""A person's browser, as far as speed is concerned: one kept-alive connection, cookies, the real sign-in form."""

import http.client
import json
import re
import time
from dataclasses import dataclass
from html import unescape
from typing import Any

_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_DATA = re.compile(r'<script id="[^"]+" type="application/json">(.*?)</script>', re.DOTALL)


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    location: str
    # Milliseconds from the first byte sent to the last byte read.
    took: float

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)

    def data(self) -> list[Any]:
        """What the page hands to its script."""
        return [json.loads(unescape(found)) for found in _DATA.findall(self.text)]


class Browser:
    """Raises RuntimeError on an answer that is not what was asked for: a fast error page is no figure."""

    def __init__(self, port: int) -> None:
        self.cookies: dict[str, str] = {}
        self.requests = 0
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def close(self) -> None:
        self._connection.close()

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        self.requests += 1
        began = time.perf_counter()
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        content = response.read()
        took = (time.perf_counter() - began) * 1000
        for name, value in response.getheaders():
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        return Answer(response.status, content, response.getheader("Location") or "", took)

    def get(self, path: str, *, expect: int = 200) -> Answer:
        answer = self._send("GET", path, None, {"Accept": "text/html"})
        return _expected(answer, expect, path)

    def post_json(self, path: str, data: dict[str, Any]) -> Answer:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "X-CSRFToken": self.token}
        return _expected(self._send("POST", path, json.dumps(data).encode(), headers), 200, path)

    @property
    def token(self) -> str:
        return self.cookies["deidreview-csrf"]

    def sign_in(self, username: str, password: str) -> None:
        path = "/accounts/login/"
        form = _TOKEN.search(self.get(path).text)
        if form is None:
            raise RuntimeError("the sign-in page has no form")
        fields = f"csrfmiddlewaretoken={form[1]}&login={username}&password={password}"
        answer = self._send("POST", path, fields.encode(), {"Content-Type": "application/x-www-form-urlencoded"})
        _expected(answer, 302, path)


def _expected(answer: Answer, status: int, path: str) -> Answer:
    if answer.status != status:
        raise RuntimeError(f"{path} answered {answer.status}, not {status}")
    return answer
