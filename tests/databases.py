"""The database of a test run, with all tables, and how tests with real transactions empty them.

It is made once for all parts of a run: the first part that needs it makes it.

Emptying is faster than with Django's command `flush`. On PostgreSQL `flush` truncates each table, which makes new files
for all of them, and then writes content types and permissions anew: a quarter of a second for each test. Here rows are
deleted, and these two tables keep theirs unless a test has changed them, for example by restoring an older database.
"""

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management.sql import emit_post_migrate_signal
from django.db import connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.test import TransactionTestCase

KEPT = {ContentType._meta.db_table, Permission._meta.db_table}


def use() -> None:
    """Let every test with real transactions empty the tables this way, and let the command `flush` work on SQLite."""
    kept = _kept()

    def empty_all(self: Any) -> None:
        for alias in self._databases_names(include_mirrors=False):
            _empty(connections[alias], kept)

    TransactionTestCase._fixture_teardown = empty_all
    if connection.vendor != "sqlite":
        return
    # Patch the class: under Playwright's event loop, Django creates other connection objects.
    operations = type(connection.ops)
    flush = operations.execute_sql_flush

    def flush_unguarded(self: Any, sql_list: list[str]) -> None:
        with self.connection.cursor() as cursor, _without_triggers(cursor):
            flush(self, sql_list)

    operations.execute_sql_flush = flush_unguarded


def _kept() -> list[tuple[object, ...]]:
    """The content types and permissions in the database."""
    types = ContentType.objects.order_by("pk").values_list("pk", "app_label", "model")
    return [*types, *Permission.objects.order_by("pk").values_list("pk", "content_type", "codename")]


def _empty(database: BaseDatabaseWrapper, kept: list[tuple[object, ...]]) -> None:
    tables = set(database.introspection.django_table_names(only_existing=True, include_views=False))
    changed = _kept() != kept
    guards = _without_triggers if database.vendor == "sqlite" else _without_checks
    with transaction.atomic(using=database.alias), database.cursor() as cursor, guards(cursor):
        for table in sorted(tables if changed else tables - KEPT):
            cursor.execute(f"DELETE FROM {database.ops.quote_name(table)}")
    if changed:
        emit_post_migrate_signal(verbosity=0, interactive=False, db=database.alias)
        kept[:] = _kept()


@contextmanager
def _without_triggers(cursor: CursorWrapper) -> Iterator[None]:
    """Remove SQLite's triggers during the block: those on the event log refuse deletions."""
    cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    triggers = cursor.fetchall()
    for name, _ in triggers:
        cursor.execute(f'DROP TRIGGER "{name}"')
    yield
    for _, sql in triggers:
        cursor.execute(sql)


@contextmanager
def _without_checks(cursor: CursorWrapper) -> Iterator[None]:
    """Let PostgreSQL neither run triggers nor check foreign keys until the transaction ends. A superuser may do so."""
    cursor.execute("SET LOCAL session_replication_role = replica")
    yield


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
