"""Whether the schema of a database fits this code, judged by the applied migrations."""

from typing import NamedTuple

from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

Migration = tuple[str, str]


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
    known = set(loader.disk_migrations)
    unknown = sorted(key for key in applied if key[0] in loader.migrated_apps and key not in known)
    # The leaves of the graph know a squashed migration instead of those that it replaces.
    wanted = {key for leaf in loader.graph.leaf_nodes() for key in loader.graph.forwards_plan(leaf)}
    return SchemaState(applied, unknown, sorted(wanted - applied))
