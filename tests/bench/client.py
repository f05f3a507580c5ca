"""A person's browser, as far as speed is concerned: one kept-alive connection, cookies, the real sign-in form.

Client and server share the machine's cores, so this one does as little as it can: `http.client` would take a third as
long for a request as the product does for the whole of a span.
"""

import json
import re
import socket
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_DATA = re.compile(r'<script id="[^"]+" type="application/json">(.*?)</script>', re.DOTALL)
_COOKIE = re.compile(rb"\r\nset-cookie: ([^=]+)=([^;\r]*)", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)
_LOCATION = re.compile(rb"\r\nlocation: ([^\r]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    head: bytes
    body: bytes
    # Milliseconds from the first byte sent to the last byte read.
    took: float

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def location(self) -> str:
        found = _LOCATION.search(self.head)
        return found[1].decode() if found else ""

    def json(self) -> Any:
        return json.loads(self.body)

    def data(self) -> list[Any]:
        """What the page hands to its script (Django's json_script: plain JSON)."""
        return [json.loads(found) for found in _DATA.findall(self.text)]


class Browser:
    """Raises RuntimeError on an answer that is not what was asked for: a fast error page is no figure."""

    def __init__(self, port: int) -> None:
        self.cookies: dict[str, str] = {}
        self.posts = 0
        self._host = f"127.0.0.1:{port}"
        self.connection = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        self.connection.close()

    def _request(self, method: str, path: str, body: bytes, headers: str) -> bytes:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nCookie: {cookies}\r\n{headers}"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def _send(self, method: str, path: str, body: bytes, headers: str) -> Answer:
        request = self._request(method, path, body, headers)
        self.posts += method == "POST"
        began = time.perf_counter()
        self.connection.sendall(request)
        head_read, content = self._read()
        took = (time.perf_counter() - began) * 1000
        for name, value in _COOKIE.findall(head_read):
            self.cookies[name.decode()] = value.decode()
        return Answer(int(head_read[9:12]), head_read, content, took)

    def _read(self) -> tuple[bytes, bytes]:
        got = b""
        while (end := got.find(b"\r\n\r\n")) < 0:
            got += self._some()
        head, rest = got[: end + 2], [got[end + 4 :]]
        length = _LENGTH.search(head)
        if length is None:
            raise RuntimeError("the answer does not say how long it is")
        left = int(length[1]) - len(rest[0])
        while left > 0:
            rest.append(self._some())
            left -= len(rest[-1])
        return head, b"".join(rest)

    def _some(self) -> bytes:
        got = self.connection.recv(65536)
        if not got:
            raise ConnectionError("the server closed the connection")
        return got

    def get(self, path: str, *, expect: int = 200) -> Answer:
        return _expected(self._send("GET", path, b"", "Accept: text/html\r\n"), expect, path)

    def _json_headers(self) -> str:
        token = self.cookies["deidreview-csrf"]
        return f"Content-Type: application/json\r\nAccept: application/json\r\nX-CSRFToken: {token}\r\n"

    def post_json(self, path: str, data: dict[str, Any]) -> Answer:
        return _expected(self._send("POST", path, json.dumps(data).encode(), self._json_headers()), 200, path)

    def request_json(self, path: str, data: dict[str, Any]) -> bytes:
        """What `post_json` would send, to be sent over `connection` by somebody else."""
        return self._request("POST", path, json.dumps(data).encode(), self._json_headers())

    def sign_in(self, username: str, password: str) -> None:
        path = "/accounts/login/"
        form = _TOKEN.search(self.get(path).text)
        if form is None:
            raise RuntimeError("the sign-in page has no form")
        self.post_form(path, {"csrfmiddlewaretoken": form[1], "login": username, "password": password}, expect=302)

    def post_form(self, path: str, fields: dict[str, str], *, expect: int) -> Answer:
        """Where the person is signed in, the form's token is sent along by itself."""
        head = "Content-Type: application/x-www-form-urlencoded\r\n"
        head += f"X-CSRFToken: {self.cookies.get('deidreview-csrf', '')}\r\n"
        return _expected(self._send("POST", path, urlencode(fields).encode(), head), expect, path)


def _expected(answer: Answer, status: int, path: str) -> Answer:
    if answer.status != status:
        raise RuntimeError(f"{path} answered {answer.status}, not {status}")
    return answer
