"""Whether a database and this code fit: read from the applied migrations, before anything else touches the data."""

from typing import NamedTuple

from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

Migration = tuple[str, str]


class SchemaState(NamedTuple):
    """`unknown`: applied migrations that this code does not have; `pending`: those it has and the database lacks."""

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
    """How the database stands to this code."""
    return compare(applied_migrations(using), using)


def applied_migrations(using: str = "default") -> frozenset[Migration]:
    return frozenset(MigrationRecorder(connections[using]).applied_migrations())


def compare(applied: frozenset[Migration], using: str = "default") -> SchemaState:
    """The same for a list of migrations from elsewhere, such as a backup's manifest.

    Migrations of applications that are no longer installed do not count: their tables are only left over.
    """
    loader = MigrationLoader(connections[using])
    known = set(loader.disk_migrations)
    unknown = sorted(key for key in applied if key[0] in loader.migrated_apps and key not in known)
    # Asked of the leaves of the graph, where a squashed migration already stands for those it replaces.
    wanted = {key for leaf in loader.graph.leaf_nodes() for key in loader.graph.forwards_plan(leaf)}
    return SchemaState(applied, unknown, sorted(wanted - applied))
