"""A private PostgreSQL server for tests and measurements, in a temporary folder that is deleted afterwards."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from deidreview.run.environment import StartError

# The data need not survive a power cut, since they are deleted after the tests.
FAST = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_wal_size=2GB", "max_connections=200"]


def programs() -> Path:
    """Return the folder of PostgreSQL's server programs: Debian's newest, otherwise the one of `initdb` in the PATH."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if versions:
        return versions[-1].parent
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    raise StartError("PostgreSQL's server is missing. Run `make setup-dev`, or on Debian: apt-get install postgresql")


@contextlib.contextmanager
def private_postgres(*, options: Sequence[str] = FAST) -> Iterator[str]:
    """Run a server on a private socket during the block. Yield its DATABASE_URL. `options` are lines of its settings.

    PostgreSQL refuses to run as root, so root starts it as the user `postgres` of Debian's package.
    """
    user = _server_user()
    # Not in TMPDIR, which may be closed to another user or too long for a socket's path.
    folder = Path(tempfile.mkdtemp(prefix="deidreview-pg-", dir="/tmp"))
    try:
        if user:
            os.chown(folder, user.pw_uid, user.pw_gid)
        data = folder / "data"
        _run(user, "initdb", "--pgdata", data, "--username=deidreview", "--auth=trust", "--encoding=UTF8", "--no-sync")
        settings = [f"unix_socket_directories='{folder}'", "listen_addresses=''", *options]
        with (data / "postgresql.conf").open("a") as file:
            file.write("\n".join(["", *settings, ""]))
        _run(user, "pg_ctl", "--pgdata", data, "--log", folder / "log", "--wait", "--silent", "start")
        try:
            # The settings read the path of the socket's folder, then the database.
            yield f"postgres://deidreview@/{folder}/postgres"
        finally:
            _run(user, "pg_ctl", "--pgdata", data, "--mode=immediate", "--silent", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _server_user() -> pwd.struct_passwd | None:
    """Return the user who runs the server, or None for the current user."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres")
    except KeyError as error:
        raise StartError(
            "PostgreSQL can't run as root, and there is no user postgres. Install Debian's package postgresql."
        ) from error


def _run(user: pwd.struct_passwd | None, program: str, *words: object) -> None:
    # Output goes to a file: the server inherits the descriptor, and a pipe would stay open while the server runs.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            [str(programs() / program), *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
            check=False,
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=[] if user else None,
        )
        if done.returncode:
            output.seek(0)
            tail = output.read().decode(errors="replace").strip().splitlines()[-3:]
            raise StartError(f"{program} failed: {' / '.join(tail) or f'exit status {done.returncode}'}")
