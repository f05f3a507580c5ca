"""Backup and restore of the whole database, in one compressed file that says what it holds.

The file is a zip of `manifest.json` and the data: for SQLite a copy made by the online backup API, for PostgreSQL a
dump in pg_dump's custom format. Everything the product keeps is in the database (uploaded and exported files too);
the secret key is not part of a backup.
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
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from django.conf import settings
from django.db import connection
from django.utils import timezone

from annotations.core.errors import ServiceError
from annotations.models import AnnotationSet, Comment, Document, Event, GoldVersion, Project, Span, User
from annotations.ops.services import backup_engines
from annotations.ops.services.backup_engines import Engine
from annotations.ops.services.schema import applied_migrations, compare

FORMAT = 1
MANIFEST = "manifest.json"
DATA = "database"
# What a zip with flipped bits raises, by where they are.
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
BLOCK = 1024 * 1024
# The file in the data folder that deidreview.run locks while the product runs.
RUN_LOCK = "lock"
# Counted on both sides, so that a restore can show that it is whole.
COUNTED = (Project, User, Document, AnnotationSet, Span, Comment, GoldVersion, Event)


class Manifest(NamedTuple):
    """What a backup says of itself. `sha256` and `bytes` are those of the data inside, unpacked."""

    version: str
    engine: str
    created: str
    migrations: frozenset[tuple[str, str]]
    sha256: str
    bytes: int
    counts: dict[str, int]


def write_backup(*, file: Path) -> dict[str, Any]:
    """Write a backup of the database as it is at this moment; the product may run meanwhile.

    The file is complete or absent, readable by its owner only, and never replaces another. Raises ServiceError.
    """
    if file.exists():
        raise ServiceError(f"{file} exists; name a file that does not", code="exists")
    engine = backup_engines.current()
    with _in_place(file) as (beside, work):
        data = work / DATA
        counts = engine.dump(data, _tables())
        manifest = {
            "format": FORMAT,
            "product": "deidreview",
            "version": settings.VERSION,
            "engine": engine.name,
            "created": timezone.now().isoformat(timespec="seconds"),
            "migrations": sorted(map(list, applied_migrations())),
            "sha256": _sha256(data),
            "bytes": data.stat().st_size,
            "counts": counts,
        }
        with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED if engine.compress else zipfile.ZIP_STORED) as archive:
            archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
            archive.write(data, DATA)
    return {"file": str(file), "bytes": file.stat().st_size, "engine": engine.name, "counts": counts}


def restore_backup(*, file: Path, force: bool = False) -> dict[str, Any]:
    """Put a backup in the place of the database. All or nothing: on any failure the database is as it was.

    Refused: a damaged file, another engine's, a newer version's, and a database that holds data unless `force` is
    given; then that data is backed up first. An older backup is migrated. Raises ServiceError.
    """
    engine = backup_engines.current()
    with _product_stopped(), tempfile.TemporaryDirectory(prefix=".restore-", dir=_work_folder()) as folder:
        manifest = _unpack(file, Path(folder) / DATA)
        state = _check_fits(file, manifest, engine)
        safety = _safety_backup(file) if _holds_data(force) else None
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
    """Raises ServiceError when the file is not one of ours."""
    try:
        raw = json.loads(archive.read(MANIFEST))
        if raw["product"] != "deidreview":
            raise KeyError("product")
        if raw["format"] > FORMAT:
            raise ServiceError(f"{file} was made by a newer version of deidreview ({raw['version']})", code="newer")
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
        raise ServiceError(f"{file} is not a backup made by deidreview, or it is damaged", code="damaged") from error


def _tables() -> dict[str, str]:
    return {model._meta.model_name or "": model._meta.db_table for model in COUNTED}


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _work_folder() -> Path:
    """Beside the data, where there is room for it and nobody else looks; never the shared temporary folder."""
    settings.DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Path(settings.DATA_DIR)


@contextlib.contextmanager
def _in_place(file: Path) -> Iterator[tuple[Path, Path]]:
    """A name beside `file` and a work folder; the first becomes `file`, safely on disk, when the block ends well."""
    try:
        with tempfile.TemporaryDirectory(prefix=".backup-", dir=file.parent) as folder:
            beside = Path(folder) / "backup"
            beside.touch(mode=0o600)
            yield beside, Path(folder)
            with beside.open("rb") as stream:
                os.fsync(stream.fileno())
            # A link, not a rename: it fails where the name has come to exist meanwhile.
            file.hardlink_to(beside)
            _sync_folder(file.parent)
    except FileExistsError as error:
        raise ServiceError(f"{file} exists; name a file that does not", code="exists") from error
    except OSError as error:
        raise ServiceError(f"{file} cannot be written ({error.strerror})", code="unwritable") from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _product_stopped() -> Iterator[None]:
    """Hold the lock that the run command holds: a restore and a running product keep each other out."""
    lock = os.open(_work_folder() / RUN_LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise ServiceError(f"deidreview runs on {settings.DATA_DIR}; stop it first", code="running") from error
    finally:
        os.close(lock)


def _unpack(file: Path, target: Path) -> Manifest:
    """Take the data out and check it against the manifest before anything is touched."""
    try:
        with zipfile.ZipFile(file) as archive:
            manifest = read_manifest(archive, file)
            with archive.open(DATA) as packed, target.open("xb") as out:
                digest = _copy(packed, out, limit=manifest.bytes)
    except FileNotFoundError as error:
        raise ServiceError(f"there is no file {file}", code="missing") from error
    except OSError as error:
        raise ServiceError(f"{file} cannot be read ({error.strerror})", code="unreadable") from error
    except (KeyError, ValueError, *DAMAGE) as error:
        raise ServiceError(f"{file} is not a backup made by deidreview, or it is damaged", code="damaged") from error
    if digest != manifest.sha256:
        raise ServiceError(f"{file} is damaged: its content does not match its checksum", code="damaged")
    return manifest


def _copy(packed: Any, out: BinaryIO, *, limit: int) -> str:
    digest = hashlib.sha256()
    taken = 0
    while block := packed.read(BLOCK):
        taken += len(block)
        if taken > limit:
            raise ValueError("more data than the manifest says")
        digest.update(block)
        out.write(block)
    return digest.hexdigest()


def _check_fits(file: Path, manifest: Manifest, engine: Engine) -> Any:
    if manifest.engine != engine.name:
        names = backup_engines.NAMES
        raise ServiceError(
            f"{file} is a backup of a {names.get(manifest.engine, manifest.engine)} database and this one is "
            f"{names[engine.name]}; restore it where DATABASE_URL names that kind",
            code="engine",
        )
    state = compare(manifest.migrations)
    if state.newer:
        raise ServiceError(
            f"{file} was made by a newer version of deidreview ({manifest.version}; this is {settings.VERSION})",
            code="newer",
        )
    return state


def _holds_data(force: bool) -> bool:
    """Raises ServiceError when there is data and nobody said that it may go."""
    present = set(connection.introspection.table_names())
    if not any(model._meta.db_table in present and model._default_manager.exists() for model in (Project, User)):
        return False
    if not force:
        raise ServiceError(
            "the database holds data; with --force it is replaced (and backed up first)", code="not-empty"
        )
    return True


def _safety_backup(file: Path) -> Path:
    folder = _work_folder() / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    safety = folder / f"{timezone.now():%Y%m%d-%H%M%S-%f}-before-restore.deidreview"
    write_backup(file=safety)
    return safety
