"""Processes forked from a warm parent, since importing Django, torch or spaCy takes seconds of processor time.

Only the imports are shared. Each process gets its own files and words, can be stopped and can crash.
"""

import atexit
import gc
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from tests.waiting import HANGS, wait_for

ROOT = Path(__file__).resolve().parents[2]
# A request is one message.
LONGEST = 1 << 17


class Forked:
    """A running process, used like `subprocess.Popen`. Its parent is the module `program`, which calls `serve`."""

    def __init__(self, program: str, env: Mapping[str, str], request: object, files: Sequence[int]) -> None:
        self.returncode: int | None = None
        self._status, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        parent = _parent(program, tuple(sorted(env.items())))
        socket.send_fds(parent, [json.dumps(request).encode()], [theirs.fileno(), *files])
        theirs.close()
        self.pid = int(self._status.recv(100) or 0)
        assert self.pid, "The warm parent has ended."

    def __del__(self) -> None:
        self._status.close()

    def poll(self) -> int | None:
        if self.returncode is None:
            with suppress(BlockingIOError):
                self.returncode = int(self._status.recv(100, socket.MSG_DONTWAIT) or -signal.SIGKILL)
        return self.returncode

    def wait(self, timeout: float = HANGS) -> int:
        select.select([self._status], [], [], min(timeout, 1))  # Most end at once.
        wait_for(lambda: self.poll() is not None, timeout, f"process {self.pid} to end")
        return int(self.returncode or 0)

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):  # It has just ended.
            if self.poll() is None:
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@cache
def _parent(program: str, env: tuple[tuple[str, str], ...]) -> socket.socket:
    """Start the warm parent with this environment. It ends with this process, and not by a Ctrl-C."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * LONGEST)
    process = subprocess.Popen(
        [sys.executable, "-m", program, str(theirs.fileno())], cwd=ROOT, env=dict(env), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()], start_new_session=True,
    )  # fmt: skip
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def serve(prepare: Callable[..., None]) -> tuple[Any, list[int]]:
    """Fork a process for each request, and report how it ends.

    Return only in the forked processes, with the request and the files. `prepare(request)` runs in the parent before.
    """
    requests = socket.socket(fileno=int(sys.argv[1]))
    waiting = selectors.DefaultSelector()
    waiting.register(requests, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is not requests:
                pid, status = key.data
                waiting.unregister(key.fd), os.close(key.fd)
                with suppress(OSError):  # The test may be over.
                    status.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                status.close()
                continue
            message, files, _, _ = socket.recv_fds(requests, LONGEST, 3)
            if not message:
                os._exit(0)
            request, status = json.loads(message), socket.socket(fileno=files[0])
            prepare(request)
            gc.freeze()
            assert len([*Path("/proc/self/task").iterdir()]) == 1, "A process with threads can't be forked safely."
            if not (pid := os.fork()):
                status.close(), requests.close()
                for other in list(waiting.get_map().values())[1:]:
                    os.close(other.fd), other.data[1].close()
                waiting.close()
                return request, files[1:]
            os.close(files[1]), os.close(files[2])
            status.send(b"%d" % pid)
            waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, status))
