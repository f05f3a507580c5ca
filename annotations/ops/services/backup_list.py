"""Backups in the data folder that were made before notes were erased, and so still contain the notes."""

import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from annotations.core.errors import ServiceError
from annotations.core.events import NOTE_DELETED, PATIENT_ERASED
from annotations.models import Event, Project
from annotations.ops.services.backup import DAMAGE, read_manifest

FOLDER = "backups"


def backups_before_erasing(project: Project) -> list[dict[str, Any]]:
    """Return name and time of each file in DATA_DIR/backups from before the project's last erasure, oldest first.

    Backups in other folders are not listed.
    """
    erasures = Event.objects.filter(project_id=project.pk, verb__in=[PATIENT_ERASED, NOTE_DELETED])
    erased = erasures.order_by("-pk").first()
    return [] if erased is None else _between(None, erased.at)


def backups_of(project: Project) -> list[dict[str, Any]]:
    """Return name and time of each file in DATA_DIR/backups that may contain the project, oldest first."""
    return _between(project.created_at, None)


def _between(first: datetime | None, last: datetime | None) -> list[dict[str, Any]]:
    folder = Path(settings.DATA_DIR) / FOLDER
    if not folder.is_dir():
        return []
    made = sorted((_made_at(file), file.name) for file in folder.iterdir() if file.is_file())
    return [
        {"file": name, "created": at.isoformat(timespec="seconds")}
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
