"""Clients that send slowly or nothing don't keep the real web server from answering others."""

import re
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.waiting import HANGS, crowding

pytestmark = [pytest.mark.product, pytest.mark.processes, pytest.mark.usefixtures("never_ending")]
MANY = 50
HEAD = b"POST /accounts/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"


@contextmanager
def connections(product, first, count=MANY):
    opened = [socket.create_connection(("127.0.0.1", product.port), timeout=HANGS) for _ in range(count)]
    try:
        for one in opened:
            one.sendall(first)
        yield opened
    finally:
        for one in opened:
            one.close()


def read_all(connection):
    got = b""
    while more := connection.recv(65536):
        got += more
    return got


@pytest.fixture(scope="module")
def never_ending(running):
    """A client that begins before the others and never ends. Its future: the answer, and the seconds until its end."""

    def told():
        began = time.monotonic()
        with connections(running, HEAD + b"X-Slow: ", 1) as (one,):
            return read_all(one), time.monotonic() - began

    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(told)


def page_in(product):
    began = time.monotonic()
    assert product.get("/accounts/login/")[0] == 200
    return time.monotonic() - began


SLOW = {
    "nothing": b"",
    "half a line": b"GET / HT",
    "half a head": HEAD + b"X-Slow: ",
    "half a body": HEAD + FORM + b"Content-Length: 1000\r\n\r\nlogin=",
    "half a body, its length with many zeros": HEAD + FORM + b"Content-Length: 00000000000000001000\r\n\r\nlogin=",
    "no upload at all": HEAD + FORM + b"Content-Length: 150000000\r\n\r\nlogin=",
    "an upload of a stranger": HEAD.replace(b"/accounts/login/", b"/projects/demo/import/")
    + FORM
    + b"Content-Length: 150000000\r\n\r\nlogin=",
    "chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
    "an answer, then half a head": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /heal",
    "a body that waits for 100 Continue": HEAD + FORM + b"Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n",
}


@pytest.mark.parametrize("first", SLOW.values(), ids=SLOW)
def test_slow_clients_hold_up_nobody(running, first):
    with connections(running, first):
        time.sleep(0.3)
        assert max(page_in(running) for _ in range(3)) < 2 * crowding()


def test_connections_that_are_kept_and_then_slow(running):
    with connections(running, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") as opened:
        for one in opened:
            assert one.recv(4096).startswith(b"HTTP/1.1 200")
            one.sendall(HEAD + b"X-Slow: ")
        assert page_in(running) < 2 * crowding()


def test_a_head_without_end_is_refused(running):
    with connections(running, HEAD + b"X-Long: " + b"a" * 70_000, 1) as (one,):
        assert read_all(one).startswith(b"HTTP/1.1 431")


def test_a_request_in_pieces_is_answered(running):
    with connections(running, b"", 1) as (one,):
        for piece in (b"GET /healthz HTTP/1.1\r", b"\nHost: 127.0.0.1\r\nConnection: close\r\n\r", b"\n"):
            time.sleep(0.2)
            one.sendall(piece)
        answer = read_all(one)
    assert answer.startswith(b"HTTP/1.1 200") and b'"ok"' in answer


def test_two_requests_at_once_are_answered_in_order(running):
    ask = b"GET /%s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n"
    with connections(running, ask % (b"healthz", b"") + ask % (b"nowhere", b"Connection: close\r\n"), 1) as (one,):
        answer = read_all(one)
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"200", b"302"] or re.findall(rb"HTTP/1.1 (\d+)", answer) == [
        b"200",
        b"404",
    ]


def test_a_body_waits_for_the_word(running):
    body = b"login=a&password=b"
    head = HEAD + FORM + b"Connection: close\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body)
    with connections(running, head, 1) as (one,):
        assert one.recv(100).startswith(b"HTTP/1.1 100")
        one.sendall(body)
        assert b"HTTP/1.1 403" in read_all(one), "no CSRF token"


def test_a_large_body_is_refused_unread(running):
    with connections(running, HEAD + FORM + b"Content-Length: 150000000\r\n\r\n", 1) as (one,):
        answer = read_all(one)
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"\r\nConnection: close\r\n" in answer, "the client must not send its next request here"


@pytest.mark.parametrize("length", [b"00000000000000000005", b"5, 5", b"+5", b"5\xb2", b"9" * 5000, b""])
def test_a_length_that_is_no_plain_number_is_refused(running, length):
    with connections(running, HEAD + FORM + b"Content-Length: " + length + b"\r\n\r\nlogin", 1) as (one,):
        assert read_all(one).startswith(b"HTTP/1.1 400")


def test_the_server_is_not_named(running):
    with connections(running, b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n", 1) as (one,):
        assert b"server:" not in read_all(one).lower()


def test_the_processes_share_the_connections(running):
    ask = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with ExitStack() as opened:
        for _ in range(24):
            (one,) = opened.enter_context(connections(running, ask, 1))
            assert one.recv(4096).startswith(b"HTTP/1.1 200")
        few, many = sorted(held_by_processes(running.port))
    assert few + many >= 24 and few >= 8  # 12, where no process is held up by others on this machine


def test_whoever_never_ends_is_told_and_cut(never_ending):
    answer, seconds = never_ending.result(HANGS)
    assert answer.startswith(b"HTTP/1.1 408") and 9 < seconds < 20 * crowding()


def held_by_processes(port):
    """Return how many connections to the port each process holds, besides the clients."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    sockets = {f"socket:[{line[9]}]" for line in lines if line[1].endswith(f":{port:04X}") and line[3] == "01"}
    held = Counter()
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            held[descriptor.parts[2]] += str(descriptor.readlink()) in sockets
    return [count for count in held.values() if count]
