"""One request of a webhook over the network.

The host is resolved once, and the connection goes to an address of that answer which the list of hosts allows, so that
an answer that changes meanwhile changes nothing. TLS and the header Host still use the name. Only the status of the
response is read: its body and redirects are of no interest, and whatever the server sends, the time limit holds.
"""

import re
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from annotations.ops.rules.web_hosts import HostError, HostList, Target, read_target

SECONDS: Final = 10.0
"""Time limit of a request, from the connection to the status of the response."""
_MOST_HEAD: Final = 16 * 1024
_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [^\r\n]*)?\r?\n")
_END: Final = re.compile(rb"\r?\n\r?\n")
_ADDRESSES: Final = 3

Resolve = Callable[..., list[tuple[Any, Any, Any, Any, tuple[Any, ...]]]]


class NotSent(Exception):
    """The message did not arrive. `code` is a key of REASONS (annotations.ops.selectors.webhooks.reasons)."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Posting:
    """A request: its URL, body and further headers."""

    url: str
    body: bytes
    headers: dict[str, str]


def post(posting: Posting, hosts: HostList, *, resolve: Resolve = socket.getaddrinfo, seconds: float = SECONDS) -> int:
    """Send the request and return the status of the response. Raises NotSent."""
    try:
        target = read_target(posting.url)
    except HostError:
        raise NotSent("host") from None
    if not hosts.lists(target.host, target.port):
        raise NotSent("host")
    addresses = _addresses(target, hosts, resolve)
    until = time.monotonic() + seconds
    try:
        with _connected(addresses, target, until) as connection:
            connection.settimeout(_left(until))
            connection.sendall(_request(target, posting))
            return _status(connection, until)
    except ssl.SSLError:
        raise NotSent("tls") from None
    except TimeoutError:
        raise NotSent("time") from None
    except OSError:
        raise NotSent("connection") from None


def _addresses(target: Target, hosts: HostList, resolve: Resolve) -> list[str]:
    """The addresses of the host that may be reached. Raises NotSent if there are none."""
    try:
        found = resolve(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotSent("name") from None
    allowed = [str(sockaddr[0]) for *_, sockaddr in found if hosts.may_reach(str(sockaddr[0]))]
    if not allowed:
        raise NotSent("address" if found else "name")
    return list(dict.fromkeys(allowed))[:_ADDRESSES]


def _connected(addresses: list[str], target: Target, until: float) -> socket.socket:
    """A connection to the first address that answers. Raises OSError."""
    for number, address in enumerate(addresses, 1):
        try:
            connection = socket.create_connection((address, target.port), timeout=_left(until))
            break
        except OSError:
            if number == len(addresses):
                raise
    if target.scheme == "http":
        return connection
    try:
        connection.settimeout(_left(until))
        return _tls().wrap_socket(connection, server_hostname=target.host)
    except BaseException:
        connection.close()
        raise


@cache
def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _request(target: Target, posting: Posting) -> bytes:
    headers = {
        "Host": target.authority,
        "Content-Type": "application/json",
        "Content-Length": str(len(posting.body)),
        "Connection": "close",
    } | posting.headers
    lines = [f"POST {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("ascii") + posting.body


def _status(connection: socket.socket, until: float) -> int:
    """The status of the response. Interim responses (RFC 9110, section 15.2) are skipped."""
    head = b""
    while len(head) < _MOST_HEAD:
        connection.settimeout(_left(until))
        data = connection.recv(4096)
        head += data
        while (found := _STATUS.match(head)) and found[1].startswith(b"1"):
            end = _END.search(head)
            if end is None:
                break
            head = head[end.end() :]
        if found and not found[1].startswith(b"1"):
            return int(found[1])
        if not data:
            break
    raise NotSent("answer")


def _left(until: float) -> float:
    """The seconds that are left. Raises TimeoutError if there are none."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
