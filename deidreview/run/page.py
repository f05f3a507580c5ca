"""A request for the first page of our own web server, on a plain socket: http.client would cost the supervisor 5 MB."""

import select
import socket


class FirstPage:
    """One request that waits for its response.

    The listening socket exists before the server does, so the connection succeeds at once and the response comes when
    the server is up, without polling.
    """

    def __init__(self, listener: socket.socket, host_header: str, path: str) -> None:
        self._listener = listener
        self._request = f"GET {path} HTTP/1.0\r\nHost: {host_header}\r\nUser-Agent: deidreview-start\r\n\r\n".encode()
        self._connection: socket.socket | None = None
        self.failures = 0  # responses with status 500 and above

    def came(self, seconds: float) -> bool:
        """Wait up to `seconds`. Return whether the server answered with a status below 500."""
        try:
            if self._connection is None:
                self._connection = self._ask()
            if not select.select([self._connection], [], [], seconds)[0]:
                return False
            first = self._connection.recv(64).split()
        except OSError:
            first = []
        self.forget()
        if len(first) < 2 or not first[0].startswith(b"HTTP/") or not first[1].isdigit():
            return False
        failed = int(first[1]) >= 500
        self.failures += failed
        return not failed

    def forget(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(self) -> socket.socket:
        name = self._listener.getsockname()
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name[0], name[0])  # noqa: S104 - compared, not bound
        connection = socket.create_connection((host, name[1]), timeout=5)
        connection.sendall(self._request)
        return connection
