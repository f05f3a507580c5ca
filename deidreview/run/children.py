"""Processes that the supervisor starts: they die with it, and are started again when they end too early."""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

from deidreview.run.environment import ROOT, StartError

PR_SET_PDEATHSIG = 1
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
# One that ran this long was well: its next end is a new story.
SETTLED_SECONDS = 60.0

Process = subprocess.Popen[bytes]
_libc = ctypes.CDLL(None, use_errno=True)


def spawn(
    command: Sequence[str], environ: Mapping[str, str], keep: Sequence[int] = (), *, log: int | None = None
) -> Process:
    """Start a process that gets SIGTERM when the supervisor dies, even by kill -9.

    It has a session of its own, so that a Ctrl-C reaches the supervisor alone, which then stops all in order.
    `keep` are descriptors handed on (the folder's lock, the listening socket).
    """
    parent = os.getpid()

    def in_child() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # died between fork and prctl
            os._exit(1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.umask(0o077)

    try:
        return subprocess.Popen(  # noqa: S603 - our own commands
            command,
            env=dict(environ),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=keep,
            start_new_session=True,
            preexec_fn=in_child,  # safe: this process has one thread
        )
    except OSError as error:
        raise StartError(f"{command[0]} cannot be started ({error.strerror})") from error


def outcome(status: int) -> str:
    """How a process ended, for people: 'exit status 1', 'killed by SIGKILL'."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


def end(process: Process, seconds: float, hurry: Callable[[], bool] = lambda: False) -> bool:
    """Ask a process to stop, then insist. True when it stopped by itself in time (and nobody was in a hurry)."""
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
    """One long-running process and its story: started, ended, started again after a pause that grows."""

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
        """Look after it. Gives a line when there is something to say."""
        now = time.monotonic()
        if self.process is None:
            if now >= self._next:
                self.start()
            return None
        status = self.process.poll()
        if status is None:
            return None
        self.process = None
        self.failures = 1 if now - self._started > SETTLED_SECONDS else self.failures + 1
        pause = min(FIRST_PAUSE * 2 ** (self.failures - 1), LONGEST_PAUSE)
        self._next = now + pause
        return f"The {self.name} process ended ({outcome(status)}); starting it again in {pause:g} s"

    def stop(self, hurry: Callable[[], bool]) -> bool:
        """True when it ended by itself within its grace time."""
        return self.process is None or end(self.process, self.grace, hurry)
