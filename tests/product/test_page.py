"""The request for the first page, which is sent before the server is ready."""

import socket
import threading

import pytest

from deidreview.run.supervisor import FirstPage

pytestmark = pytest.mark.product


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def answer(listener, text):
    """Answer one request with this text, like a server that has just started."""

    def serve():
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(text)

    threading.Thread(target=serve, daemon=True).start()


def asked(listener):
    return FirstPage(listener, "127.0.0.1", "/")


@pytest.mark.parametrize("line", [b"HTTP/1.1 200 OK", b"HTTP/1.0 302 Found", b"HTTP/1.1 400 Bad Request"])
def test_any_answer_of_the_servers_own_counts(listener, line):
    page = asked(listener)
    assert not page.came(0)
    answer(listener, line + b"\r\n\r\n")
    assert page.came(5)


def test_a_failing_page_is_counted_and_asked_for_again(listener):
    page = asked(listener)
    answer(listener, b"HTTP/1.1 500 Internal Server Error\r\n\r\n")
    assert not page.came(5)
    assert page.failures == 1
    answer(listener, b"HTTP/1.1 200 OK\r\n\r\n")
    assert page.came(5)


@pytest.mark.parametrize("line", [b"", b"SSH-2.0", b"HTTP/1.1 what"])
def test_a_server_that_dies_or_mumbles_is_asked_again(listener, line):
    page = asked(listener)
    answer(listener, line)
    assert not page.came(5)
    assert page.failures == 0
