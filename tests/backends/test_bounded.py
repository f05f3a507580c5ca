"""Servers with endless responses, over real HTTP: limits of bytes and seconds."""

import gzip
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from models_runtime.backends.base import BackendError
from models_runtime.backends.bounded import MOST_BYTES
from models_runtime.backends.llm.asking import Meter, Question
from models_runtime.backends.llm.remote import RemoteCompletion
from models_runtime.backends.llm.servers import Server
from tests.waiting import HANGS, crowding

QUESTION = Question("system", "note-0000000000000000\nDr. Serra\nnote-0000000000000000", 100, None)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
Pieces = Callable[[], Iterator[bytes]]


@contextmanager
def sending(pieces: Pieces, sent: list[int]) -> Iterator[str]:
    """A server on loopback that answers everything with these pieces; `sent` gets the number of bytes of each."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                connection.recv(65536)
                for piece in pieces():
                    connection.sendall(piece)
                    sent.append(len(piece))

        def serve() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


def refused(pieces: Pieces, *, seconds: float = HANGS) -> tuple[BackendError, int]:
    """The error, and the number of bytes that the server could send."""
    sent: list[int] = []
    with sending(pieces, sent) as url:
        asker = RemoteCompletion(Server("ward", url, ("m1",), seconds=seconds), "m1", Meter(), sleep=lambda _: None)
        with pytest.raises(BackendError) as caught:
            asker.complete(QUESTION)
    assert "Serra" not in str(caught.value)
    return caught.value, sum(sent)


def endless(head: bytes, piece: bytes, pause: float = 0) -> Pieces:
    def pieces() -> Iterator[bytes]:
        yield head
        while True:
            yield piece
            time.sleep(pause)

    return pieces


CHUNK = b"10000\r\n" + b"x" * 65536 + b"\r\n"


@pytest.mark.parametrize("pieces", [
    endless(HEAD + b"\r\n", b'"' + b"x" * 65535), endless(HEAD + b"Content-Length: 600000000\r\n\r\n", b"x" * 65536),
    endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", CHUNK), endless(b"HTTP/1.1 500 Oops\r\n\r\n", b"x" * 65536),
], ids=["until the end", "with a length", "in chunks", "an error"])  # fmt: skip
def test_an_endless_body_is_limited_in_bytes(pieces: Pieces) -> None:
    tracemalloc.start()
    try:
        error, sent = refused(pieces)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "sent more than 16 MB" in str(error) and not error.permanent
    # The buffers of the connection come in addition.
    assert sent < MOST_BYTES + 16 * 2**20 and most < 6 * MOST_BYTES


def test_a_compressed_answer_is_not_unpacked() -> None:
    bomb = gzip.compress(b"[" * 50_000_000)
    error, _ = refused(lambda: iter([HEAD + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + bomb]))
    assert "or a compressed response" in str(error)


@pytest.mark.parametrize("pieces", [
    endless(HEAD + b"\r\n", b"x", 0.02), endless(HEAD, b"X-More: and more\r\n", 0.02),
], ids=["body", "headers"])  # fmt: skip
def test_slow_responses_time_out(pieces: Pieces) -> None:
    began = time.monotonic()
    error, _ = refused(pieces, seconds=0.2)
    assert "took longer than 0.2 s" in str(error)
    assert time.monotonic() - began < 10 * crowding()  # five tries


def test_endless_headers_are_rejected() -> None:
    error, sent = refused(endless(HEAD, b"X-More: " + b"x" * 60_000 + b"\r\n"))
    assert not isinstance(error.__cause__, MemoryError) and sent < 64 * 2**20
