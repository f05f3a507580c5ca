"""The data folder: private, locked for one instance, with its own secret key."""

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from deidreview.run.environment import StartError

LOCK, PREPARE_LOCK, SECRET_KEY = "lock", "prepare.lock", "secret_key"
# The children of a killed supervisor hold the lock until they have ended.
LEFTOVER_SECONDS = 20.0


def prepare(data: Path, say: Callable[[str], None]) -> int:
    """Create the folder (0700), take its lock, and write a secret key if there is none. Return the lock's descriptor.

    Raise StartError with one line if the folder can't be used.
    """
    make(data, say)
    with _writing(data):
        lock = os.open(data / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    _take(lock, data, say)
    _secret_key(data)
    return lock


@contextlib.contextmanager
def _writing(data: Path) -> Iterator[None]:
    """Raise StartError with one line if the folder can't be used."""
    try:
        yield
    except FileExistsError as error:
        raise StartError(f"DEIDREVIEW_DATA: {data} is not a folder.") from error
    except OSError as error:
        raise StartError(f"DEIDREVIEW_DATA: {data} cannot be written ({error.strerror}).") from error


def make(data: Path, say: Callable[[str], None]) -> None:
    """Create the folder (0700). An existing folder keeps its mode; warn if other users can look into it.

    Raise StartError with one line if the folder can't be created.
    """
    with _writing(data):
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    if data.stat().st_mode & 0o077:
        say(
            f"DEIDREVIEW_DATA: Other users of this machine can look into {data}. To prevent this, run: chmod 700 {data}"
        )


def ready(data: Path, environ: Mapping[str, str], say: Callable[[str], None]) -> None:
    """Create the folder for a command that runs without the app, and a secret key if only this machine needs it.

    If DATABASE_URL names a database, several machines share one key, so no key is generated here.
    Raise StartError with one line if the folder can't be used.
    """
    make(data, say)
    if not environ.get("DATABASE_URL"):
        _secret_key(data)


def is_new(data: Path) -> bool:
    """Say whether the folder has nothing but a secret key, so that a command may create a database in it.

    Raise StartError if an app runs with this folder: its database is elsewhere, or comes into being right now.
    """
    if any(file.name not in (LOCK, PREPARE_LOCK, SECRET_KEY) for file in data.iterdir()):
        return False
    with contextlib.suppress(FileNotFoundError):
        lock = os.open(data / LOCK, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StartError(
                f"DEIDREVIEW_DATA: {data} is in use by a deidreview that has no database there. Set DATABASE_URL as "
                "for that one. If it has just been started, try again."
            ) from None
        finally:
            os.close(lock)
    return True


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
                    f"DEIDREVIEW_DATA: {data} is in use by another deidreview{by}. Stop it first."
                ) from None
            if not waiting:
                waiting = True
                say("Waiting for the processes of an interrupted run to end.")
            time.sleep(0.1)
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)


def _owner(lock: int) -> int:
    text = os.pread(lock, 32, 0).strip()
    return int(text) if text.isdigit() else 0


def _alive(pid: int) -> bool:
    # Another process may have this id by now. Then the start fails at once, although waiting could have helped.
    return pid > 0 and Path(f"/proc/{pid}").exists()


def _secret_key(data: Path) -> None:
    file = data / SECRET_KEY
    if os.environ.get("DEIDREVIEW_SECRET_KEY") or file.exists():
        return
    with _writing(data):
        written = data / f"{SECRET_KEY}.{os.getpid()}.{threading.get_ident()}"
        descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(descriptor, os.urandom(48).hex().encode() + b"\n")
        os.fsync(descriptor)
        os.close(descriptor)
        # Two processes may both find no key: the first one's key counts.
        with contextlib.suppress(FileExistsError):
            file.hardlink_to(written)
        written.unlink()
