"""The data folder: made private, locked for one instance, with a secret key of its own."""

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from deidreview.run.environment import StartError

LOCK = "lock"
# A killed supervisor's children need a moment to end; they hold the lock until then.
LEFTOVER_SECONDS = 20.0


def prepare(data: Path, say: Callable[[str], None]) -> int:
    """Make the folder (0700), take its lock, write a secret key if there is none. Gives the lock's descriptor.

    Raises StartError with one line when the folder cannot be used.
    """
    try:
        make(data, say)
        lock = os.open(data / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise StartError(f"DEIDREVIEW_DATA: {data} is not a folder") from error
    except OSError as error:
        raise StartError(f"DEIDREVIEW_DATA: {data} cannot be written ({error.strerror})") from error
    _take(lock, data, say)
    _secret_key(data)
    return lock


def make(data: Path, say: Callable[[str], None]) -> None:
    """Make the folder (0700). One that was there keeps the rights it was given; where they are wide, it is said.

    Raises OSError.
    """
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    if data.stat().st_mode & 0o077:
        say(f"DEIDREVIEW_DATA: other users of this machine can look into {data}; close it by: chmod 700 {data}")


def ready(data: Path, environ: Mapping[str, str], say: Callable[[str], None]) -> None:
    """For a command that runs without the product: the folder, and a key where this machine alone needs it.

    With a database elsewhere the key is shared by several machines, and one made here would be another one.
    Raises StartError with one line when the folder cannot be used.
    """
    try:
        make(data, say)
    except FileExistsError as error:
        raise StartError(f"DEIDREVIEW_DATA: {data} is not a folder") from error
    except OSError as error:
        raise StartError(f"DEIDREVIEW_DATA: {data} cannot be written ({error.strerror})") from error
    if not environ.get("DATABASE_URL"):
        _secret_key(data)


def _take(lock: int, data: Path, say: Callable[[str], None]) -> None:
    deadline = time.monotonic() + LEFTOVER_SECONDS
    waiting = False
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            owner = _owner(lock)
            if _alive(owner) or time.monotonic() > deadline:
                by = f" (process {owner})" if owner else ""
                raise StartError(
                    f"DEIDREVIEW_DATA: {data} is in use by another deidreview{by}; stop it first"
                ) from None
            if not waiting:
                waiting = True
                say("Waiting for the processes of an interrupted run to end")
            time.sleep(0.1)
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)


def _owner(lock: int) -> int:
    text = os.pread(lock, 32, 0).strip()
    return int(text) if text.isdigit() else 0


def _alive(pid: int) -> bool:
    # A process id may have been given to someone else since; then only the wait is lost, not the lock.
    return pid > 0 and Path(f"/proc/{pid}").exists()


def _secret_key(data: Path) -> None:
    file = data / "secret_key"
    if os.environ.get("DEIDREVIEW_SECRET_KEY") or file.exists():
        return
    try:
        written = data / f"secret_key.{os.getpid()}.{threading.get_ident()}"
        descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(descriptor, os.urandom(48).hex().encode() + b"\n")
        os.fsync(descriptor)
        os.close(descriptor)
        # Two processes may both find none: the first one's key is the key.
        with contextlib.suppress(FileExistsError):
            file.hardlink_to(written)
        written.unlink()
    except OSError as error:
        raise StartError(f"DEIDREVIEW_DATA: {data} cannot be written ({error.strerror})") from error
