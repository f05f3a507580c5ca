"""Whether the schema of a database fits this code, judged by the applied migrations."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from django.conf import settings
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

Migration = tuple[str, str]
# The folder beside a squashed migration with those that it replaces, for databases that lack some of them.
EARLIER: Final = "earlier"


class SchemaState(NamedTuple):
    """Applied migrations; those of them that this code does not have (`unknown`); those not yet applied (`pending`)."""

    applied: frozenset[Migration]
    unknown: list[Migration]
    pending: list[Migration]

    @property
    def empty(self) -> bool:
        return not self.applied

    @property
    def newer(self) -> bool:
        return bool(self.unknown)

    @property
    def older(self) -> bool:
        return not self.unknown and not self.empty and bool(self.pending)


def schema_state(using: str = "default") -> SchemaState:
    """Compare the database's migrations with this code's."""
    return compare(applied_migrations(using), using)


def applied_migrations(using: str = "default") -> frozenset[Migration]:
    return frozenset(MigrationRecorder(connections[using]).applied_migrations())


def compare(applied: frozenset[Migration], using: str = "default") -> SchemaState:
    """Compare a list of applied migrations, such as that of a backup's manifest, with this code's.

    Migrations of applications that are no longer installed are ignored: nothing uses their tables any more.
    """
    loader = MigrationLoader(connections[using])
    replaced = {key for squashed in loader.replacements.values() for key in squashed.replaces}
    known = {*loader.disk_migrations, *replaced}
    unknown = sorted(key for key in applied if key[0] in loader.migrated_apps and key not in known)
    # An older database lacks some of the migrations that a squashed one replaces, and later ones.
    return SchemaState(applied, unknown, sorted(set(loader.disk_migrations) - applied))


def made_halfway(using: str = "default") -> bool:
    """Whether some, but not all, of the migrations that a squashed one replaces have been applied."""
    applied = applied_migrations(using)
    squashed = MigrationLoader(None).replacements.values()
    return any(set(each.replaces) & applied and set(each.replaces) - applied for each in squashed)


@contextmanager
def earlier_migrations() -> Iterator[None]:
    """Let Django find the migrations of `earlier` instead of the squashed ones, in the whole process."""
    before = settings.MIGRATION_MODULES
    apps = {app for app, _name in MigrationLoader(None).replacements}
    folders = {app: f"{MigrationLoader.migrations_module(app)[0]}.{EARLIER}" for app in apps}
    settings.MIGRATION_MODULES = {**before, **folders}
    try:
        yield
    finally:
        settings.MIGRATION_MODULES = before
