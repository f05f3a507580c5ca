"""Processes that the supervisor starts. They die with the supervisor, and are started again if they end too early."""

import ctypes
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from annotations.installation import CODE
from deidreview.run.environment import StartError

PR_SET_PDEATHSIG = 1
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
# A process that ran this long started successfully, so its next end counts as the first failure again.
STABLE_SECONDS = 60.0

Popen = subprocess.Popen[bytes]
_libc = ctypes.CDLL(None, use_errno=True)


def spawn(
    command: Sequence[str], environ: Mapping[str, str], keep: Sequence[int] = (), *, log: int | None = None
) -> Popen:
    """Start a process that gets SIGTERM when the supervisor dies, even by kill -9.

    The process has its own session, so that a Ctrl-C reaches only the supervisor, which then stops all processes in
    order. The process inherits the descriptors in `keep` (the folder's lock, the listening socket).
    """
    parent = os.getpid()

    def in_child() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # the supervisor died between fork and prctl
            os._exit(1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.umask(0o077)

    try:
        return subprocess.Popen(  # noqa: S603 - our own commands
            command,
            env=dict(environ),
            cwd=CODE,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=keep,
            start_new_session=True,
            preexec_fn=in_child,  # This is safe, because this process has one thread.
        )
    except OSError as error:
        raise StartError(f"{command[0]} cannot be started ({error.strerror}).") from error


class Loader:
    """The supervisor's end of the loader (deidreview.run.loader), which starts again when it has ended and is needed.

    `start` starts its process, with the descriptor of its socket.
    """

    def __init__(self, start: Callable[[int], Popen]) -> None:
        self._start = start
        self._process: Popen | None = None
        self._running: set[int] = set()
        self._statuses: dict[int, int] = {}

    def start(self) -> None:
        # A socket of packets never gives a part of an answer.
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = self._start(other.fileno())

    def fork(self, name: str) -> "Forked":
        """Fork a process once the code is loaded. If the loader ends before, so has the process."""
        if self._process is None or self._process.poll() is not None:
            self.start()
        self.ask(f"fork {name}")
        while (answer := self._answer(None)) and answer[0] != "forked":
            continue
        return Forked(self, int(answer[1]) if answer else 0)

    def ask(self, words: str) -> None:
        with suppress(OSError):  # It has ended, and so have all processes that it forked.
            self._socket.send(words.encode())

    def status(self, pid: int) -> int | None:
        """The exit status of a process that it forked. None while the process runs."""
        while pid in self._running and self._answer(0):
            continue
        return None if pid in self._running else self._statuses.pop(pid, -signal.SIGTERM)

    def stop(self) -> None:
        if self._process is not None:
            end(self._process, 5)

    def _answer(self, seconds: float | None) -> list[str]:
        """Take the words of one answer. Empty if none came within `seconds` (None: any time), or the loader ended."""
        if not select.select([self._socket], [], [], seconds)[0]:
            return []
        try:
            answer = self._socket.recv(256).decode().split()
        except OSError:
            answer = []
        if not answer:
            self._running.clear()
        elif answer[0] == "forked":
            self._running.add(int(answer[1]))
        else:
            self._running.discard(int(answer[1]))
            self._statuses[int(answer[1])] = int(answer[2])
        return answer


class Forked:
    """A process that the loader forked, with those methods of Popen that are used here."""

    def __init__(self, loader: Loader, pid: int) -> None:
        self._loader = loader
        self.pid = pid
        self._status: int | None = None

    def poll(self) -> int | None:
        if self._status is None:
            self._status = self._loader.status(self.pid)
        return self._status

    def terminate(self) -> None:
        self._loader.ask(f"signal {self.pid} {signal.SIGTERM.value}")

    def kill(self) -> None:
        self._loader.ask(f"signal {self.pid} {signal.SIGKILL.value}")

    def wait(self, timeout: float = LONGEST_PAUSE) -> int:
        deadline = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(["deidreview"], timeout)
            time.sleep(0.02)
        return status


Process = Popen | Forked


def outcome(status: int) -> str:
    """Describe how a process ended: 'exit status 1', 'killed by SIGKILL'."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


def end(process: Process, seconds: float, hurry: Callable[[], bool] = lambda: False) -> bool:
    """Terminate a process, and kill it after `seconds` or when `hurry()` is true. Return whether it ended in time."""
    if process.poll() is not None:
        return True
    process.terminate()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not hurry():
        try:
            process.wait(0.1)
            return True
        except subprocess.TimeoutExpired:
            continue
    process.kill()
    process.wait()
    return False


class Child:
    """A long-running process that is started again after it ends, with a growing pause."""

    def __init__(self, name: str, start: Callable[[], Process], *, grace: float) -> None:
        self.name = name
        self.grace = grace
        self.failures = 0
        self.process: Process | None = None
        self._start = start
        self._started = 0.0
        self._next = 0.0

    def start(self) -> None:
        self.process = self._start()
        self._started = time.monotonic()

    def watch(self) -> str | None:
        """Check the process, and start it again when its pause is over. Return a line to print, if there is one."""
        now = time.monotonic()
        if self.process is None:
            if now >= self._next:
                self.start()
            return None
        status = self.process.poll()
        if status is None:
            return None
        self.process = None
        self.failures = 1 if now - self._started > STABLE_SECONDS else self.failures + 1
        pause = min(FIRST_PAUSE * 2 ** (self.failures - 1), LONGEST_PAUSE)
        self._next = now + pause
        return f"The {self.name} process ended ({outcome(status)}). It starts again in {pause:g} s."

    def stop(self, hurry: Callable[[], bool]) -> bool:
        """Stop the process. Return whether it ended within its grace time."""
        return self.process is None or end(self.process, self.grace, hurry)
