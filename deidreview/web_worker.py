"""gunicorn's threaded worker, changed so that no thread waits for slow clients.

The main loop of a process gathers the head of each request, and a body of usual size, as they arrive. A thread gets
only complete requests. So a client that sends slowly, or nothing, costs a socket and a few bytes, and no thread waits.
Only the body of a large upload is read by a thread, with a minimum rate, and never by more than half of the threads.
"""

import contextlib
import errno
import mmap
import re
import selectors
import socket
import struct
import time
from collections import deque
from concurrent.futures import Future
from functools import partial
from typing import Any

from gunicorn.http import wsgi
from gunicorn.workers.gthread import TConn, ThreadWorker

from deidreview import REQUEST_BYTES

# The head of a request must arrive within this time.
HEAD_SECONDS = 10.0
HEAD_BYTES = 64 * 1024
# A body may take BODY_SECONDS, and one second more for each SLOWEST bytes.
BODY_SECONDS = 10.0
SLOWEST = 32 * 1024
# The total size of all requests of one process that are being gathered or wait for a thread.
HELD_BYTES = 32 * 1024 * 1024
# After the last response, a client may take this long to close, and send this much, before the connection is cut.
LINGER_SECONDS, LINGER_BYTES = 2.0, 4 * 1024 * 1024
# If a client reads nothing of its response for this long, the connection is cut.
SEND_SECONDS = 30
READ = 64 * 1024
LOOK_SECONDS = 0.5
# How long a process leaves a new connection to one that has fewer.
PASS_SECONDS = 0.001

_LENGTH = re.compile(rb"(?im)^content-length[ \t]*:[ \t]*([0-9]{1,15})[ \t]*\r$")
_LENGTH_FIELD = re.compile(rb"(?im)^content-length[ \t]*:")
_CHUNKED = re.compile(rb"(?im)^transfer-encoding[ \t]*:")
_EXPECTS = re.compile(rb"(?im)^expect[ \t]*:[ \t]*100-continue[ \t]*\r$")
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


# The number of connections of each process, in memory that the forked processes share.
_connections = memoryview(mmap.mmap(-1, 8 * 1024)).cast("Q")


class Response(wsgi.Response):  # type: ignore[misc]  # gunicorn has no types
    """A response that doesn't name the server."""

    def default_headers(self) -> list[str]:
        return [line for line in super().default_headers() if not line.startswith("Server:")]


class PacedSocket:
    """The socket from which a thread reads a large body. Raises ConnectionResetError if the client is too slow."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.begin()

    def begin(self) -> None:
        self.waited, self.received = 0.0, 0

    def recv(self, size: int) -> bytes:
        left = BODY_SECONDS + self.received / SLOWEST - self.waited
        began = time.monotonic()
        try:
            self.socket.settimeout(max(left, 0.001))
            data = self.socket.recv(size)
        except TimeoutError as error:
            raise ConnectionResetError(errno.ECONNRESET, "the client sends too slowly") from error
        finally:
            self.socket.setblocking(True)
            self.waited += time.monotonic() - began
        self.received += len(data)
        return data


class Connection(TConn):  # type: ignore[misc]  # gunicorn has no types
    """A connection with the received part of its next request."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.data_ready = True
        self.paced: PacedSocket | None = None
        self.begin(b"")

    def begin(self, held: bytes) -> None:
        self.gathered = bytearray(held)
        self.wanted: int | None = None  # bytes of the request, once its head is known
        self.whole = True  # False: a thread has to read the body
        self.wrong = False
        self.deadline = time.monotonic() + HEAD_SECONDS
        self.size = 0

    def look(self) -> None:
        """Check whether the head is complete, and compute the size of the request."""
        end = self.gathered.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self.gathered[: end + 4])
        written = _LENGTH.findall(head)
        # gunicorn accepts spellings that are not read here (any number of leading zeros) and would wait for that body.
        self.wrong = len(written) != len(_LENGTH_FIELD.findall(head))
        lengths = {int(length) for length in written}
        body = max(lengths, default=0)
        self.whole = body <= REQUEST_BYTES and len(lengths) <= 1 and not _CHUNKED.search(head)
        self.wanted = len(head) + (body if self.whole else 0)
        if len(self.gathered) < self.wanted:
            self.deadline = time.monotonic() + BODY_SECONDS + body / SLOWEST
            if _EXPECTS.search(head):
                with contextlib.suppress(OSError):
                    self.sock.send(_CONTINUE)

    def give(self) -> None:
        """Give the gathered bytes to the parser. Called in the thread."""
        self.sock.setblocking(True)
        self.init()
        if self.paced is None:
            self.paced = self.parser.unreader.sock = PacedSocket(self.sock)
        self.paced.begin()
        self.parser.unreader.unread(bytes(self.gathered))
        self.gathered = bytearray()


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's worker with another way of waiting for clients and of ending connections."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.gathering: dict[Connection, None] = {}
        self.lingering: dict[Connection, int] = {}
        self.held = 0
        self.next_look = 0.0
        self.uploads = 0
        self.uploads_waiting: deque[Connection] = deque()
        self.most_uploads = max(1, self.cfg.threads // 2)
        self.place, self.passed = self.age % self.cfg.workers, False

    def init_process(self) -> None:
        wsgi.Response = Response  # gunicorn looks its response class up under this name
        super().init_process()

    # ── Gathering a request ──────────────────────────────────────────────────────────────────────────────────────────
    def accept(self, listener: socket.socket) -> None:
        # All processes wake for a connection. The first one would get most of them, and the other cores would idle.
        others = [count for place, count in enumerate(_connections[: self.cfg.workers]) if place != self.place]
        if others and self.nr_conns > min(others) and not self.passed:
            self.passed = True
            time.sleep(PASS_SECONDS)
            return
        self.passed = False
        try:
            client, address = listener.accept()
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                raise
            return
        with contextlib.suppress(OSError):
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_SECONDS, 0))
        self.nr_conns += 1
        if self.nr_conns >= self.worker_connections:
            self._make_room()
        self.gather(Connection(self.cfg, client, address, listener.getsockname()))

    def _make_room(self) -> None:
        """Drop the connection whose request has been incomplete for longest, otherwise an idle connection."""
        if self.gathering:
            self._drop(next(iter(self.gathering)))
        elif self.keepalived_conns:
            self.keepalived_conns[0].timeout = 0
            self.murder_keepalived()

    def on_client_socket_readable(self, conn: Connection, client: socket.socket) -> None:
        """Gather the next request on a kept connection."""
        self.poller.unregister(client)
        self.keepalived_conns.remove(conn)
        self.gather(conn)

    def gather(self, conn: Connection, held: bytes = b"") -> None:
        """Wait for a complete request. `held` is the part that was received already."""
        conn.begin(held)
        conn.sock.setblocking(False)
        self.gathering[conn] = None
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._more, conn))
        if held:
            self._count(conn)
            self._look(conn)
        else:
            self._more(conn, conn.sock)

    def _more(self, conn: Connection, client: socket.socket) -> None:
        if conn not in self.gathering:
            return
        try:
            data = client.recv(READ)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._drop(conn)
            return
        conn.gathered += data
        self._count(conn)
        self._look(conn)

    def _look(self, conn: Connection) -> None:
        if conn not in self.gathering:
            return
        if conn.wanted is None:
            conn.look()
        if conn.wrong:
            self._refuse(conn, b"400 Bad Request")
        elif conn.wanted is not None:
            if len(conn.gathered) >= conn.wanted:
                self._hand_over(conn)
        elif len(conn.gathered) > HEAD_BYTES:
            self._refuse(conn, b"431 Request Header Fields Too Large")

    def _count(self, conn: Connection) -> None:
        """Keep the held bytes below their limit by refusing the largest incomplete request."""
        self.held += len(conn.gathered) - conn.size
        conn.size = len(conn.gathered)
        while self.held > HELD_BYTES and self.gathering:
            self._refuse(max(self.gathering, key=lambda one: one.size), b"503 Service Unavailable")

    def _uncount(self, conn: Connection) -> None:
        self.held -= conn.size
        conn.size = 0

    def _leave(self, conn: Connection) -> None:
        del self.gathering[conn]
        with contextlib.suppress(OSError, KeyError, ValueError):
            self.poller.unregister(conn.sock)

    def _hand_over(self, conn: Connection) -> None:
        self._leave(conn)
        if conn.whole:
            self.enqueue_req(conn)
        elif self.uploads < self.most_uploads:
            self.uploads += 1
            self.enqueue_req(conn)
        else:
            self.uploads_waiting.append(conn)

    # ── Answering in a thread ────────────────────────────────────────────────────────────────────────────────────────
    def handle(self, conn: Connection) -> Any:
        conn.give()
        return super().handle(conn)

    def handle_request(self, req: Any, conn: Connection) -> bool:
        """Close the connection after a large upload, since the unread rest of its body would have to be read first."""
        if not conn.whole:
            req.force_close()
        return bool(super().handle_request(req, conn))

    def finish_request(self, conn: Connection, fs: "Future[Any]") -> None:
        self._uncount(conn)
        if not conn.whole:
            self.uploads -= 1
            if self.uploads_waiting:
                self.uploads += 1
                self.enqueue_req(self.uploads_waiting.popleft())
        if fs.cancelled() or fs.exception() or not fs.result():
            self._linger(conn)
        elif held := conn.parser.unreader.take_buffered():
            self.gather(conn, held)
        else:
            super().finish_request(conn, fs)

    # ── Ending a connection ──────────────────────────────────────────────────────────────────────────────────────────
    def _linger(self, conn: Connection) -> None:
        """Let the client read the whole response. gunicorn's own way would block the main loop."""
        try:
            conn.sock.shutdown(socket.SHUT_WR)
            conn.sock.setblocking(False)
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._lingers, conn))
        except (OSError, KeyError, ValueError):
            self._close(conn)
            return
        conn.deadline = time.monotonic() + LINGER_SECONDS
        self.lingering[conn] = 0

    def _lingers(self, conn: Connection, client: socket.socket) -> None:
        if conn not in self.lingering:
            return
        try:
            data = client.recv(READ)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        self.lingering[conn] += len(data)
        if not data or self.lingering[conn] > LINGER_BYTES:
            self._cut(conn)

    def _cut(self, conn: Connection) -> None:
        del self.lingering[conn]
        with contextlib.suppress(OSError, KeyError, ValueError):
            self.poller.unregister(conn.sock)
        self._close(conn)

    def _drop(self, conn: Connection) -> None:
        self._leave(conn)
        self._close(conn)

    def _refuse(self, conn: Connection, status: bytes) -> None:
        self._leave(conn)
        self._uncount(conn)
        with contextlib.suppress(OSError):
            conn.sock.send(b"HTTP/1.1 " + status + b"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        self._linger(conn)

    def _close(self, conn: Connection) -> None:
        self._uncount(conn)
        self.nr_conns -= 1
        conn.close()

    def murder_pending(self) -> None:
        """Drop clients that are too slow, and at the end of the process those that sent nothing.

        gunicorn's main loop calls this method.
        """
        _connections[self.place] = self.nr_conns
        now = time.monotonic()
        if now < self.next_look:
            return
        self.next_look = now + LOOK_SECONDS
        for conn in [one for one in self.gathering if one.deadline < now or not (self.alive or one.gathered)]:
            if conn.gathered:
                self._refuse(conn, b"408 Request Timeout")
            else:
                self._drop(conn)
        for conn in [one for one in self.lingering if one.deadline < now]:
            self._cut(conn)
