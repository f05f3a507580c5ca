"""Backup and restore of the whole database, in one compressed file with a manifest.

The file is a zip of `manifest.json` and the data: for SQLite a copy made by the online backup API, for PostgreSQL a
dump in pg_dump's custom format. deidreview keeps everything in the database, also uploaded and exported files. The
secret key is not part of a backup.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from django.conf import settings
from django.db import connection, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.services import NOTE_DELETED, PATIENT_ERASED, ServiceError
from annotations.models import AnnotationSet, Comment, Document, Event, GoldVersion, Project, Span, User
from annotations.ops.services import backup_engines
from annotations.ops.services.backup_engines import Engine

# Whether the schema of a database fits this code, judged by the applied migrations.


Migration = tuple[str, str]
# Every database from before the first release has one of these migrations, since its tables were written anew.
BEFORE_RELEASES: Final = tuple(
    ("annotations", name) for name in ("0001_initial", "0002_initial", "0002_tables", "0002_schema")
)


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
        return not set(BEFORE_RELEASES).isdisjoint(self.unknown)

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
    message = _(
        "%(data)s is from a version before the first release, which this version can't read. Start that version, "
        "export the notes and annotations of each project, and import them here (docs/formats.md)."
    )
    return ServiceError(message % {"data": data}, code="too-old")


FORMAT = 1
MANIFEST = "manifest.json"
DATA = "database"
# The errors that reading a damaged zip raises, depending on where the damage is.
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
BLOCK = 1024 * 1024
# The file in the data folder that deidreview.run locks while it runs.
RUN_LOCK = "lock"
# These rows are counted in the backup and after a restore, to prove that the restore is complete.
COUNTED = (Project, User, Document, AnnotationSet, Span, Comment, GoldVersion, Event)


class Manifest(NamedTuple):
    """The manifest of a backup. `sha256` and `bytes` refer to the unpacked data."""

    version: str
    engine: str
    created: str
    migrations: frozenset[tuple[str, str]]
    sha256: str
    bytes: int
    counts: dict[str, int]


def write_backup(*, file: Path) -> dict[str, Any]:
    """Write a backup of the database in its current state; deidreview may keep running meanwhile.

    The file is complete or absent, readable by its owner only, and never replaces another. Raises ServiceError.
    """
    if file.exists():
        raise _exists(file)
    engine = backup_engines.current()
    # The time is taken before the data is read. A patient who is erased during the backup may still be in it, so the
    # backup must count as older than that erasure.
    created = timezone.now().isoformat(timespec="seconds")
    with _finished_file(file) as (unfinished, work):
        data = work / DATA
        counts = engine.dump(data, _tables())
        manifest = {
            "format": FORMAT,
            "product": "deidreview",
            "version": settings.VERSION,
            "engine": engine.name,
            "created": created,
            "migrations": sorted(map(list, applied_migrations())),
            "sha256": _sha256(data),
            "bytes": data.stat().st_size,
            "counts": counts,
        }
        compression = zipfile.ZIP_DEFLATED if engine.compress else zipfile.ZIP_STORED
        with zipfile.ZipFile(unfinished, "w", compression) as archive:
            archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
            archive.write(data, DATA)
    return {"file": str(file), "bytes": file.stat().st_size, "engine": engine.name, "counts": counts}


def restore_backup(*, file: Path, force: bool = False) -> dict[str, Any]:
    """Replace the database by a backup. On any failure the database stays unchanged.

    A backup of an older version is migrated. If the database contains data and `force` is set, it is backed up first.
    Raises ServiceError for a damaged file, a file from another database engine, a newer version or one before the first
    release, and a database that contains data while `force` is not set.
    """
    engine = backup_engines.current()
    with _product_stopped(), tempfile.TemporaryDirectory(prefix=".restore-", dir=_work_folder()) as folder:
        manifest = _unpack(file, Path(folder) / DATA)
        state = _check_fits(file, manifest, engine)
        safety = _safety_backup() if _may_replace(force) else None
        engine.load(Path(folder) / DATA, _tables(), expected=manifest.counts, migrate=bool(state.pending))
    return {
        "file": str(file),
        "created": manifest.created,
        "version": manifest.version,
        "migrated": len(state.pending),
        "counts": manifest.counts,
        "safety_backup": str(safety) if safety else None,
    }


def read_manifest(archive: zipfile.ZipFile, file: Path) -> Manifest:
    """Read the manifest. Raises ServiceError when the file is not a backup made by deidreview."""
    try:
        raw = json.loads(archive.read(MANIFEST))
        if raw["product"] != "deidreview":
            raise KeyError("product")
        if raw["format"] > FORMAT:
            raise _newer(file, raw["version"])
        return Manifest(
            version=str(raw["version"]),
            engine=str(raw["engine"]),
            created=datetime.fromisoformat(raw["created"]).isoformat(),
            migrations=frozenset((str(app), str(name)) for app, name in raw["migrations"]),
            sha256=str(raw["sha256"]),
            bytes=int(raw["bytes"]),
            counts={str(name): int(count) for name, count in raw["counts"].items()},
        )
    except (KeyError, ValueError, TypeError, AttributeError, *DAMAGE) as error:
        raise _unreadable(file) from error


def _exists(file: Path) -> ServiceError:
    return ServiceError(f"{file} already exists. Choose a new file name.", code="exists")


def _newer(file: Path, version: object) -> ServiceError:
    return ServiceError(
        f"{file} was made by a newer version of deidreview ({version}; this is {settings.VERSION}). "
        "Restore it with that version.",
        code="newer",
    )


def _unreadable(file: Path) -> ServiceError:
    return ServiceError(
        f"{file} is damaged or is not a deidreview backup. Nothing was restored. Use another file.", code="damaged"
    )


def _tables() -> dict[str, str]:
    return {model._meta.model_name or "": model._meta.db_table for model in COUNTED}


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _work_folder() -> Path:
    """Return the data folder: it has enough room and is private, unlike the shared temporary folder."""
    settings.DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Path(settings.DATA_DIR)


@contextlib.contextmanager
def _finished_file(file: Path) -> Iterator[tuple[Path, Path]]:
    """Yield an unfinished file and a work folder. The unfinished file becomes `file` if the block raises nothing."""
    try:
        with tempfile.TemporaryDirectory(prefix=".backup-", dir=file.parent) as folder:
            unfinished = Path(folder) / "backup"
            unfinished.touch(mode=0o600)
            yield unfinished, Path(folder)
            with unfinished.open("rb") as stream:
                os.fsync(stream.fileno())
            # A hard link, not a rename: a rename would replace a file that somebody has created meanwhile.
            file.hardlink_to(unfinished)
            _sync_folder(file.parent)
    except FileExistsError as error:
        raise _exists(file) from error
    except OSError as error:
        raise ServiceError(
            f"{file} can't be written ({error.strerror}). Choose another folder.", code="unwritable"
        ) from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _product_stopped() -> Iterator[None]:
    """Hold the lock of deidreview.run, so that a restore and a running deidreview exclude each other."""
    lock = os.open(_work_folder() / RUN_LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise ServiceError(
            f"deidreview is running with the data folder {settings.DATA_DIR}. Stop it first.", code="running"
        ) from error
    finally:
        os.close(lock)


def _unpack(file: Path, target: Path) -> Manifest:
    """Unpack the data and check it against the manifest, before the database is changed."""
    try:
        with zipfile.ZipFile(file) as archive:
            manifest = read_manifest(archive, file)
            with archive.open(DATA) as packed, target.open("xb") as out:
                digest = _copy(packed, out, limit=manifest.bytes)
    except FileNotFoundError as error:
        raise ServiceError(f"The file {file} does not exist.", code="missing") from error
    except OSError as error:
        raise ServiceError(f"{file} can't be read ({error.strerror}).", code="unreadable") from error
    except (KeyError, ValueError, *DAMAGE) as error:
        raise _unreadable(file) from error
    if digest != manifest.sha256:
        raise ServiceError(
            f"{file} is damaged: its content does not match its checksum. Nothing was restored. Use another file.",
            code="damaged",
        )
    return manifest


def _copy(packed: Any, out: BinaryIO, *, limit: int) -> str:
    digest = hashlib.sha256()
    copied = 0
    while block := packed.read(BLOCK):
        copied += len(block)
        if copied > limit:
            raise ValueError("The backup has more data than its manifest says.")
        digest.update(block)
        out.write(block)
    return digest.hexdigest()


def _check_fits(file: Path, manifest: Manifest, engine: Engine) -> Any:
    if manifest.engine != engine.name:
        names = backup_engines.NAMES
        raise ServiceError(
            f"{file} is a backup of a {names.get(manifest.engine, manifest.engine)} database, but DATABASE_URL names "
            f"a {names[engine.name]} database. Restore the backup to a database of the same kind.",
            code="engine",
        )
    state = compare(manifest.migrations)
    if state.before_releases:
        raise too_old(file)
    if state.newer:
        raise _newer(file, manifest.version)
    return state


def _may_replace(force: bool) -> bool:
    """Return whether the database contains data. Raises ServiceError if it does and `force` is not set."""
    present = set(connection.introspection.table_names())
    if not any(model._meta.db_table in present and model._default_manager.exists() for model in (Project, User)):
        return False
    if not force:
        raise ServiceError(
            "The database contains data. Add --force to replace the database; it is backed up first.", code="not-empty"
        )
    return True


def _safety_backup() -> Path:
    folder = _work_folder() / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    safety = folder / f"{timezone.now():%Y%m%d-%H%M%S-%f}-before-restore.deidreview"
    write_backup(file=safety)
    return safety


# Backups in the data folder that were made before notes were erased, and so still contain the notes.


FOLDER = "backups"


@dataclass(frozen=True)
class EarlierBackup:
    """A file of the data folder, and when it was made."""

    file: str
    created: datetime


def backups_before_erasing(project: Project) -> list[EarlierBackup]:
    """Return name and time of each file in DATA_DIR/backups from before the project's last erasure, oldest first.

    Backups in other folders are not listed.
    """
    erasures = Event.objects.filter(project_id=project.pk, verb__in=[PATIENT_ERASED, NOTE_DELETED])
    last = erasures.aggregate(last=Max("at"))["last"]
    return [] if last is None else _between(None, last)


def backups_of(project: Project) -> list[EarlierBackup]:
    """Return name and time of each file in DATA_DIR/backups that may contain the project, oldest first."""
    return _between(project.created_at, None)


def _between(first: datetime | None, last: datetime | None) -> list[EarlierBackup]:
    folder = Path(settings.DATA_DIR) / FOLDER
    if not folder.is_dir():
        return []
    made = sorted((_made_at(file), file.name) for file in folder.iterdir() if file.is_file())
    return [
        EarlierBackup(name, at.replace(microsecond=0))
        for at, name in made
        if (first is None or at >= first) and (last is None or at <= last)
    ]


def _made_at(file: Path) -> datetime:
    """Return the time in the manifest, or the modification time of a file that is not a readable backup."""
    try:
        with zipfile.ZipFile(file) as archive:
            at = datetime.fromisoformat(read_manifest(archive, file).created)
    except (ServiceError, OSError, KeyError, ValueError, *DAMAGE):
        at = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    return at if at.tzinfo else at.replace(tzinfo=UTC)
