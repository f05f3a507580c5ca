"""Whether the schema of a database fits this code, judged by the applied migrations."""

from typing import Final, NamedTuple

from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError

Migration = tuple[str, str]
# Every database from before the first release has this migration. Its tables were written anew for that release.
BEFORE_RELEASES: Final = ("annotations", "0001_initial")


class SchemaState(NamedTuple):
    """Applied migrations; those of them that this code does not have (`unknown`); those not yet applied (`pending`)."""

    applied: frozenset[Migration]
    unknown: list[Migration]
    pending: list[Migration]

    @property
    def empty(self) -> bool:
        return not self.applied

    @property
    def before_releases(self) -> bool:
        """Whether a version from before the first release wrote the data, which this version can't read."""
        return BEFORE_RELEASES in self.unknown

    @property
    def newer(self) -> bool:
        return bool(self.unknown) and not self.before_releases

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
    unknown = sorted(key for key in applied if key[0] in loader.migrated_apps and key not in loader.disk_migrations)
    return SchemaState(applied, unknown, sorted(set(loader.disk_migrations) - applied))


def too_old(data: object) -> ServiceError:
    """Return the error for data from before the first release; `data` says where they are."""
    return ServiceError(
        _(
            "%(data)s is from a version before the first release, which this version can't read. Start that version, "
            "export the notes and annotations of each project, and import them here (docs/formats.md)."
        )
        % {"data": data},
        code="too-old",
    )
