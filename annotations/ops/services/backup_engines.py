"""How each database is copied out and put back, whole. Used by services.backup only."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import psycopg.conninfo
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from annotations.core.errors import ServiceError

# Objects belong to whoever restores them.
PLAIN = ("--no-owner", "--no-privileges")
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


class Engine(Protocol):
    """One kind of database. `tables` maps a counted thing's name to its table."""

    name: str
    compress: bool  # whether the copy is worth packing

    def dump(self, target: Path, tables: Mapping[str, str]) -> dict[str, int]:
        """Copy the database as of one moment to `target`. Gives the counts at that moment."""

    def load(self, source: Path, tables: Mapping[str, str], *, expected: Mapping[str, int], migrate: bool) -> None:
        """Put the copy in the database's place, or leave everything as it was and raise ServiceError."""


def current() -> Engine:
    """The engine of the default database."""
    return PostgreSQL() if connection.vendor == "postgresql" else SQLite()


def _differs(found: Mapping[str, int], expected: Mapping[str, int]) -> str:
    return ", ".join(
        f"{name}: {found.get(name)} of {count}" for name, count in expected.items() if found.get(name) != count
    )


class SQLite:
    name = "sqlite"
    compress = True

    def dump(self, target: Path, tables: Mapping[str, str]) -> dict[str, int]:
        connection.ensure_connection()
        with contextlib.closing(sqlite3.connect(target)) as copy:
            # One step: a single moment of the source, without keeping writers away.
            connection.connection.backup(copy)
            # A file of its own, without a write-ahead log beside it.
            copy.execute("PRAGMA journal_mode=DELETE")
            return self._counts(copy, tables)

    def load(self, source: Path, tables: Mapping[str, str], *, expected: Mapping[str, int], migrate: bool) -> None:
        """All that can go wrong is done on the copy; then SQLite takes it over in one transaction of its own."""
        with contextlib.closing(sqlite3.connect(source)) as copy:
            try:
                sound = copy.execute("PRAGMA quick_check").fetchone()[0] == "ok"
            except sqlite3.DatabaseError:
                sound = False
            if not sound:
                raise ServiceError("the database inside the backup is damaged", code="damaged")
            different = _differs(self._counts(copy, tables), expected)
            if different:
                raise ServiceError(f"the backup does not hold what it says ({different})", code="damaged")
        if migrate:
            self._migrate(source)
        connection.ensure_connection()
        with contextlib.closing(sqlite3.connect(source)) as copy:
            try:
                copy.backup(connection.connection)
            except sqlite3.OperationalError as error:
                raise ServiceError(f"the database is in use ({error}); stop deidreview first", code="busy") from error

    def _migrate(self, file: Path) -> None:
        """On the copy. As the default database, since a data migration may not say which one it means."""
        place = connection.settings_dict["NAME"]
        connection.close()
        connection.settings_dict["NAME"] = str(file)
        try:
            call_command("migrate", interactive=False, verbosity=0)
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA journal_mode=DELETE")
        finally:
            connection.close()
            connection.settings_dict["NAME"] = place

    def _counts(self, copy: sqlite3.Connection, tables: Mapping[str, str]) -> dict[str, int]:
        present = {row[0] for row in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        # Table names come from our own models.
        return {
            name: copy.execute(f'SELECT COUNT(*) FROM "{table}"').fetchone()[0]  # noqa: S608
            for name, table in tables.items()
            if table in present
        }


class PostgreSQL:
    name = "postgresql"
    compress = False  # pg_dump's own format is compressed

    def dump(self, target: Path, tables: Mapping[str, str]) -> dict[str, int]:
        """The counts are read in the snapshot that pg_dump copies."""
        dumper = _program("pg_dump")
        with self._own_connection() as own, own.transaction():
            own.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            snapshot = own.execute("SELECT pg_export_snapshot()").fetchone()[0]
            counts = self._counts(own, tables)
            self._run(
                [
                    dumper,
                    *PLAIN,
                    "--format=custom",
                    f"--snapshot={snapshot}",
                    f"--file={target}",
                ]
            )
        return counts

    def load(self, source: Path, tables: Mapping[str, str], *, expected: Mapping[str, int], migrate: bool) -> None:
        """One transaction drops what is there, loads the copy, counts it; only then it is made to last."""
        if not migrate:
            self._replace(source, self._checks(tables, expected))
            return
        before = source.with_suffix(".before")
        self._run([_program("pg_dump"), *PLAIN, "--format=custom", f"--file={before}"])
        self._replace(source, self._checks(tables, expected))
        try:
            call_command("migrate", interactive=False, verbosity=0)
        except Exception:
            self._replace(before, "")
            raise

    def _replace(self, source: Path, checks: str) -> None:
        connection.close()
        steps = [source.with_suffix(f".{number}.sql") for number in range(3)]
        steps[0].write_text(self._drops(), encoding="utf-8")
        self._run([_program("pg_restore"), *PLAIN, "--clean", "--if-exists", f"--file={steps[1]}", str(source)])
        steps[2].write_text(checks, encoding="utf-8")
        files = [word for step in steps for word in ("--file", str(step))]
        self._run([_program("psql"), "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1", *files])

    def _drops(self) -> str:
        """Only what is ours goes: the tables of our applications, and functions named deidreview_*."""
        with connection.cursor() as cursor:
            tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
            cursor.execute(
                "SELECT oid::regprocedure::text FROM pg_proc "
                "WHERE pronamespace = current_schema()::regnamespace AND starts_with(proname, 'deidreview_')"
            )
            functions = [row[0] for row in cursor.fetchall()]
        connection.close()
        return "\n".join(
            [
                "SET client_min_messages = warning;",
                "SET lock_timeout = '10s';",
                *(
                    f"DROP TABLE IF EXISTS {connection.ops.quote_name(table)} CASCADE;"
                    for table in [*tables, MigrationRecorder.Migration._meta.db_table]
                ),
                *(f"DROP FUNCTION IF EXISTS {function} CASCADE;" for function in functions),
                "",
            ]
        )

    def _checks(self, tables: Mapping[str, str], expected: Mapping[str, int]) -> str:
        """Fails the transaction when a count differs. pg_restore's script empties the search path."""
        lines = ["SET search_path = public;", "DO $$ BEGIN"]
        for name, count in expected.items():
            if name in tables:
                table = connection.ops.quote_name(tables[name])
                lines.append(
                    f"IF (SELECT COUNT(*) FROM {table}) <> {int(count)} "  # noqa: S608 - names of our own models
                    f"THEN RAISE EXCEPTION 'the backup does not hold what it says ({name})'; END IF;"
                )
        return "\n".join([*lines, "END $$;", ""])

    def _counts(self, own: Any, tables: Mapping[str, str]) -> dict[str, int]:
        present = set(connection.introspection.table_names())
        return {
            name: own.execute(f'SELECT COUNT(*) FROM "{table}"').fetchone()[0]  # noqa: S608 - our own models
            for name, table in tables.items()
            if table in present
        }

    @contextlib.contextmanager
    def _own_connection(self) -> Iterator[Any]:
        """A plain connection beside Django's, for a transaction of its own."""
        with psycopg.connect(self._conninfo(), password=connection.settings_dict["PASSWORD"] or None) as own:
            yield own

    def _conninfo(self) -> str:
        """libpq's words for the database, without the password: a command line can be seen by others."""
        ours = {"cursor_factory", "context", "prepare_threshold", "password", "client_encoding"}
        parameters = connection.get_connection_params()
        return psycopg.conninfo.make_conninfo(**{k: v for k, v in parameters.items() if k not in ours})

    def _run(self, command: list[str]) -> None:
        password = connection.settings_dict["PASSWORD"]
        environ = {**os.environ, **({"PGPASSWORD": password} if password else {})}
        if "pg_restore" not in command[0]:
            command = [*command, f"--dbname={self._conninfo()}"]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise ServiceError(f"{Path(command[0]).name} failed: {_first_error(done.stderr)}", code="engine-failed")


def _first_error(stderr: str) -> str:
    """The first line that names an error. DETAIL and CONTEXT lines stay out: they quote rows, so perhaps a note."""
    lines = [line.strip() for line in stderr.splitlines() if "error" in line.lower() or "fatal" in line.lower()]
    return lines[0] if lines else "no reason given"


def _program(name: str) -> str:
    """PostgreSQL's client program from the PATH or from Debian's versioned folder (the newest)."""
    found = shutil.which(name)
    if found:
        return found
    versions = sorted(
        Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4].split(".")[0])
    )
    if versions:
        return str(versions[-1])
    raise ServiceError(
        f"{name} is missing, so a PostgreSQL database cannot be copied; on Debian: apt-get install postgresql-client",
        code="tool-missing",
    )
