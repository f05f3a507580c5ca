"""A database with all tables, made once for all parts of a test run: the first part that needs it makes it."""

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from django.db import connection, connections

TEMPLATE = "migrated"


@contextmanager
def migrated(folder: Path) -> Iterator[None]:
    """Copy the database that another part has made. If there is none, keep a copy of the one that the block makes.

    The test database has a name of this process, since several parts use one server.
    """
    sqlite = connection.vendor == "sqlite"
    name = connection.settings_dict["TEST"]["NAME"] if sqlite else f"test_{os.getpid()}"
    connections.settings["default"]["TEST"]["NAME"] = name
    copy = _copy_file if sqlite else _copy_on_server
    template = folder / TEMPLATE if sqlite else TEMPLATE
    made = folder / f"made-{connection.vendor}"
    with (folder / f"lock-{connection.vendor}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            yield
            copy(name, template)
            made.touch()
            return
    copy(template, name)
    yield


def _copy_file(source: object, target: object) -> None:
    if source == connection.settings_dict["NAME"]:  # The newest pages may be in the log of the connection.
        with closing(sqlite3.connect(str(target))) as to:
            connection.ensure_connection()
            connection.connection.backup(to)
    else:
        shutil.copyfile(str(source), str(target))


def _copy_on_server(source: object, target: object) -> None:
    """Copy a database, to which nobody may be connected."""
    connection.close()
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{target}" TEMPLATE "{source}"')
