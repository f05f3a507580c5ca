"""The squashed migrations make the tables, indexes, constraints and triggers that the earlier ones made, one by one."""

import contextlib
import sqlite3
import uuid

import pytest
from django.core.management import call_command
from django.db import connection

from annotations.ops.services.schema import earlier_migrations

# Both the squashed migration and the earlier ones no longer change, so the night is soon enough.
pytestmark = [pytest.mark.nightly, pytest.mark.django_db(transaction=True)]
TRIGGERS = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal UNION ALL "
    "SELECT proname, prosrc FROM pg_proc WHERE proname LIKE 'deidreview%'",
}


@contextlib.contextmanager
def empty_database(folder):
    """Let the connection lead to an empty database during the block."""
    name = connection.settings_dict["NAME"]
    sqlite = connection.vendor == "sqlite"
    empty = str(folder / "empty.sqlite3") if sqlite else f"empty_{uuid.uuid4().hex[:8]}"
    if not sqlite:
        with connection._nodb_cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {empty}")
    connection.close()
    connection.settings_dict["NAME"] = empty
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = name
        if not sqlite:
            with connection._nodb_cursor() as cursor:
                cursor.execute(f"DROP DATABASE {empty}")


def schema():
    """The parts of each table, without the order of its columns and the names of its constraints."""
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            columns = connection.introspection.get_table_description(cursor, table)
            constraints = connection.introspection.get_constraints(cursor, table).values()
            found[table] = {*map(repr, columns)}, sorted(repr(sorted(each.items())) for each in constraints)
        cursor.execute(TRIGGERS[connection.vendor])
        found["triggers"] = {(name, " ".join(text.split())) for name, text in cursor.fetchall()}
    return found


def checks():
    """The conditions of SQLite's check constraints, which Django's introspection leaves out."""
    if connection.vendor != "sqlite":
        return set()
    with contextlib.closing(sqlite3.connect(connection.settings_dict["NAME"])) as database:
        tables = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    return {(name, part.removesuffix(")")) for name, sql in tables for part in sql.split(", CONSTRAINT ")[1:]}


def test_the_schema_is_the_same(tmp_path):
    squashed, conditions = schema(), checks()
    with empty_database(tmp_path):
        with earlier_migrations():
            call_command("migrate", verbosity=0)
        call_command("migrate", verbosity=0)  # those after the squashed ones
        one_by_one = schema()
        assert checks() == conditions
    assert one_by_one == squashed
    assert len(squashed["triggers"]) > 4
