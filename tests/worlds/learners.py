"""Learners in processes forked from a warm parent, since importing torch or spaCy takes up to 4 s of processor time.

Only the imports are shared. Each training, and each check of an uploaded file, is still a process of its own, which
gets its task through pipes, can be stopped and can crash. `cold_learners` starts them as the product does.
"""

import atexit
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pytest

from models_runtime.backends import children
from models_runtime.backends.child import main
from models_runtime.backends.files import format_of

PR_SET_PDEATHSIG = 1
# A request is one message: words and environment.
LONGEST = 1 << 16


class ForkedLearner:
    """A running learner, used like `subprocess.Popen`."""

    def __init__(self, words: Sequence[str], env: Mapping[str, str]) -> None:
        self.returncode: int | None = None
        self._status, status = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        (reads, feeds), (hears, says) = os.pipe(), os.pipe()
        self.stdin: IO[bytes] = os.fdopen(feeds, "wb")
        self.stdout: IO[bytes] = os.fdopen(hears, "rb")
        parent = _parent(tuple(sorted(env.items())))
        socket.send_fds(parent, [json.dumps(words).encode()], [status.fileno(), reads, says])
        status.close(), os.close(reads), os.close(says)
        self.pid = int(self._status.recv(100) or 0)
        assert self.pid, "The warm parent has ended."

    def __del__(self) -> None:
        self._status.close()

    def poll(self) -> int | None:
        with suppress(BlockingIOError):
            self.wait(socket.MSG_DONTWAIT)
        return self.returncode

    def wait(self, flags: int = 0) -> int:
        if self.returncode is None:
            self.returncode = int(self._status.recv(100, flags) or -signal.SIGKILL)
        return self.returncode

    def communicate(self, timeout: float) -> tuple[bytes, None]:
        """Return what the learner writes until it ends."""
        self.stdin.close()
        until, said = time.monotonic() + timeout, b""
        while select.select([self.stdout], [], [], max(0, until - time.monotonic()))[0]:
            if not (data := os.read(self.stdout.fileno(), LONGEST)):
                self.wait()
                return said, None
            said += data
        raise subprocess.TimeoutExpired([], timeout)

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):  # It has just ended.
            if self.poll() is None:
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _start(
    words: Sequence[str], *, env: Mapping[str, str], **options: Any
) -> "ForkedLearner | subprocess.Popen[bytes]":
    """Stand for `subprocess.Popen` in the module that starts the learners. A test's own program starts as always."""
    if words[2] == main.__module__:
        return ForkedLearner(words[4:], env)
    return subprocess.Popen(words, env=env, **options)


WARM = SimpleNamespace(**vars(subprocess) | {"Popen": _start})


def use() -> None:
    """Fork all learners of this process from the warm parent, also after a test has undone its patches."""
    children.subprocess = WARM  # type: ignore[assignment]


@pytest.fixture
def cold_learners() -> Iterator[None]:
    """Start learners as the product does: each with its own interpreter."""
    children.subprocess = subprocess
    yield
    use()


@cache
def _parent(env: tuple[tuple[str, str], ...]) -> socket.socket:
    """Start the warm parent of learners with this environment. It ends with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.worlds.learners", str(theirs.fileno())],
        cwd=children.CODE, env=dict(env), pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _warm_up(act: str, *words: str) -> None:
    """Import what this task needs. The learner itself reports what is wrong with its file or its module."""
    with suppress(Exception):
        known = dict(word.split("=") for word in words[:-1] if act == "check")
        module = known[format_of(Path(words[-1]))] if known else words[0]
        if module.startswith("models_runtime.") and module not in sys.modules:
            importlib.import_module(module)
            if "torch" in sys.modules:
                importlib.import_module("torch._dynamo")  # The first optimizer imports it, which takes 1.8 s.
            gc.collect()
            gc.freeze()
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "A process with threads can't be forked safely."


def _serve(requests: socket.socket) -> Iterator[list[str]]:
    """Fork a process for each request, and one that reports how it ends. Yield the words in the former alone."""
    while True:
        message, files, _, _ = socket.recv_fds(requests, LONGEST, 3)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not message:
            return
        words = json.loads(message)
        _warm_up(*words)
        if not os.fork():
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            requests.close()
            status = socket.socket(fileno=files[0])
            if not (pid := os.fork()):
                status.close()
                for number, file in enumerate(files[1:]):
                    os.dup2(file, number), os.close(file)
                yield words
            os.close(files[1]), os.close(files[2])
            status.send(b"%d" % pid)
            ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            with suppress(OSError):  # The test may be over.
                status.send(b"%d" % ended)
            os._exit(0)
        for file in files:
            os.close(file)


if __name__ == "__main__":
    for act, *modules, path in _serve(socket.socket(fileno=int(sys.argv[1]))):
        try:
            main(os.getppid(), act, modules, Path(path))
        except SystemExit as ending:
            os._exit(int(ending.code or 0))
        except BaseException:
            os._exit(1)
        os._exit(0)
