"""How to dump and load a whole database, for SQLite and PostgreSQL. Used by services.backup only."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from annotations.core.services import ServiceError

if TYPE_CHECKING:
    import psycopg

# The restoring user becomes the owner of all objects.
PLAIN = ("--no-owner", "--no-privileges")
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


class Engine(Protocol):
    """One kind of database. `tables` maps the name of each counted model to its table."""

    name: str
    compress: bool  # whether compressing the dump makes it smaller

    def dump(self, target: Path, tables: Mapping[str, str]) -> dict[str, int]:
        """Copy a consistent snapshot of the database to `target`. Return its row counts by name."""

    def load(self, source: Path, tables: Mapping[str, str], *, expected: Mapping[str, int], migrate: bool) -> None:
        """Replace the database by the dump. Raises ServiceError and changes nothing if that fails."""


def current() -> Engine:
    """Return the engine of the default database."""
    return PostgreSQL() if connection.vendor == "postgresql" else SQLite()


def _own_prefixes() -> tuple[str, ...]:
    """Return the prefixes of the tables of our applications, in every version."""
    configs = apps.get_app_configs()
    return tuple(f"{each.label}_" for each in configs if each.name.partition(".")[0] in settings.OWN_PACKAGES)


def _differences(found: Mapping[str, int], expected: Mapping[str, int]) -> str:
    return ", ".join(
        f"{name}: {found.get(name)} of {count}" for name, count in expected.items() if found.get(name) != count
    )


class SQLite:
    name = "sqlite"
    compress = True

    def dump(self, target: Path, tables: Mapping[str, str]) -> dict[str, int]:
        connection.ensure_connection()
        with contextlib.closing(sqlite3.connect(target)) as copy:
            # The backup is made in one step: a consistent snapshot that does not block writers.
            connection.connection.backup(copy)
            # The copy must be a single file, without a write-ahead log beside it.
            copy.execute("PRAGMA journal_mode=DELETE")
            return self._counts(copy, tables)

    def load(self, source: Path, tables: Mapping[str, str], *, expected: Mapping[str, int], migrate: bool) -> None:
        """Check and migrate the copy first; then SQLite loads it in one transaction."""
        with contextlib.closing(sqlite3.connect(source)) as copy:
            try:
                sound = copy.execute("PRAGMA quick_check").fetchone()[0] == "ok"
            except sqlite3.DatabaseError:
                sound = False
            if not sound:
                raise ServiceError(
                    "The database inside the backup is damaged. Nothing was restored. Use another file.", code="damaged"
                )
            different = _differences(self._counts(copy, tables), expected)
            if different:
                raise ServiceError(
                    f"The backup is incomplete ({different}). Nothing was restored. Use another file.", code="damaged"
                )
        if migrate:
            self._migrate(source)
        connection.ensure_connection()
        with contextlib.closing(sqlite3.connect(source)) as copy:
            try:
                copy.backup(connection.connection)
            except sqlite3.OperationalError as error:
                raise ServiceError(f"The database is in use ({error}). Stop deidreview first.", code="busy") from error

    def _migrate(self, file: Path) -> None:
        """Migrate the copy as the default database, because a data migration may not name its database."""
        name = connection.settings_dict["NAME"]
        connection.close()
        connection.settings_dict["NAME"] = str(file)
        try:
            call_command("migrate", interactive=False, verbosity=0)
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA journal_mode=DELETE")
        finally:
            connection.close()
            connection.settings_dict["NAME"] = name

    def _counts(self, copy: sqlite3.Connection, tables: Mapping[str, str]) -> dict[str, int]:
        present = {row[0] for row in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        # The SQL is safe: the table names come from our own models.
        return {
            name: copy.execute(f'SELECT COUNT(*) FROM "{table}"').fetchone()[0]  # noqa: S608
            for name, table in tables.items()
            if table in present
        }


class PostgreSQL:
    name = "postgresql"
    compress = False  # pg_dump's own format is compressed

    def dump(self, target: Path, tables: Mapping[str, str]) -> dict[str, int]:
        """Dump with pg_dump. The rows are counted in the snapshot that pg_dump copies."""
        dumper = _program("pg_dump")
        with self._own_connection() as own, own.transaction():
            own.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            (snapshot,) = next(iter(own.execute("SELECT pg_export_snapshot()")))
            counts = self._counts(own, tables)
            self._run([dumper, *PLAIN, "--format=custom", f"--snapshot={snapshot}", f"--file={target}"])
        return counts

    def load(self, source: Path, tables: Mapping[str, str], *, expected: Mapping[str, int], migrate: bool) -> None:
        """Drop the old tables, load the dump and check its counts in one transaction."""
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
        """Return SQL that drops the tables of our applications and the functions named deidreview_*, nothing else."""
        with connection.cursor() as cursor:
            tables = set(connection.introspection.django_table_names(only_existing=True, include_views=False))
            # Tables of other versions are dropped too: a renamed table owns a sequence whose name the dump may use.
            tables |= {
                name for name in connection.introspection.table_names(cursor) if name.startswith(_own_prefixes())
            }
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
                    for table in [*sorted(tables), MigrationRecorder.Migration._meta.db_table]
                ),
                *(f"DROP FUNCTION IF EXISTS {function} CASCADE;" for function in functions),
                "",
            ]
        )

    def _checks(self, tables: Mapping[str, str], expected: Mapping[str, int]) -> str:
        """Return SQL that fails the transaction when a count differs.

        It sets the search path, because the script of pg_restore empties it.
        """
        lines = ["SET search_path = public;", "DO $$ BEGIN"]
        for name, count in expected.items():
            if name in tables:
                table = connection.ops.quote_name(tables[name])
                lines.append(
                    f"IF (SELECT COUNT(*) FROM {table}) <> {int(count)} "  # noqa: S608 - names of our own models
                    f"THEN RAISE EXCEPTION 'The backup is incomplete ({name}).'; END IF;"
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
    def _own_connection(self) -> "Iterator[psycopg.Connection[Any]]":
        """Open a psycopg connection, for a transaction separate from Django's."""
        import psycopg  # imported here, so that processes on SQLite don't load it

        with psycopg.connect(self._conninfo(), password=connection.settings_dict["PASSWORD"] or None) as own:
            yield own

    def _conninfo(self) -> str:
        """Return libpq's connection string without the password, because other users can see command lines."""
        from psycopg.conninfo import make_conninfo

        ours = {"cursor_factory", "context", "prepare_threshold", "password", "client_encoding"}
        parameters = connection.get_connection_params()
        return make_conninfo(**{k: v for k, v in parameters.items() if k not in ours})

    def _run(self, command: list[str]) -> None:
        password = connection.settings_dict["PASSWORD"]
        environ = {**os.environ, **({"PGPASSWORD": password} if password else {})}
        if "pg_restore" not in command[0]:
            command = [*command, f"--dbname={self._conninfo()}"]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise ServiceError(
                f"{Path(command[0]).name} failed. It said: “{_first_error(done.stderr)}”.", code="engine-failed"
            )


def _first_error(stderr: str) -> str:
    """Return the first line that names an error. DETAIL and CONTEXT lines may quote note text, so they are left out."""
    lines = [line.strip() for line in stderr.splitlines() if "error" in line.lower() or "fatal" in line.lower()]
    return lines[0] if lines else "no reason given"


def _program(name: str) -> str:
    """Return the path of a PostgreSQL client program: on the PATH, else the newest in Debian's versioned folders."""
    found = shutil.which(name)
    if found:
        return found
    versions = sorted(
        Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4].split(".")[0])
    )
    if versions:
        return str(versions[-1])
    raise ServiceError(
        f"The program {name} is not installed, so a PostgreSQL database can't be copied. "
        "On Debian, run “apt-get install postgresql-client”.",
        code="tool-missing",
    )
