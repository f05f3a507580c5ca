"""Stored files: uploads waiting for import, exports waiting to be fetched; gone after a while. Trained models stay."""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import IO

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from annotations.domain.names import shown
from annotations.models import Project, StoredChunk, StoredFile, User

CHUNK = 1024 * 1024


def store_file(*, project: Project, kind: str, name: str, content: IO[bytes], actor: User | None) -> StoredFile:
    """Keep a file in the database, in one transaction, with its size and sha256. All but models expire."""
    digest = hashlib.sha256()
    size = 0
    with transaction.atomic():
        stored = StoredFile.objects.create(
            project=project,
            kind=kind,
            name=shown(name)[-255:],
            created_by=actor,
            expires_at=None if kind == StoredFile.Kind.MODEL else _end(),
        )
        for number, data in enumerate(iter(lambda: content.read(CHUNK), b"")):
            StoredChunk.objects.create(file=stored, number=number, data=data)
            digest.update(data)
            size += len(data)
        stored.size, stored.sha256 = size, digest.hexdigest()
        stored.save(update_fields=["size", "sha256"])
    return stored


def _end() -> datetime:
    return timezone.now() + timedelta(hours=settings.STORED_FILE_HOURS)


def read_chunks(stored: StoredFile) -> Iterator[bytes]:
    """The content in order, never more than one chunk in memory."""
    numbers: Iterable[int] = stored.chunks.order_by("number").values_list("number", flat=True)
    for number in list(numbers):
        yield bytes(stored.chunks.values_list("data", flat=True).get(number=number))


def open_stored(stored: StoredFile) -> IO[bytes]:
    """A seekable copy, in memory while small, else in a file that has no name on the disk."""
    copy: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=16 * CHUNK)  # noqa: SIM115 - the caller closes it
    for data in read_chunks(stored):
        copy.write(data)
    copy.seek(0)
    return copy


def delete_expired() -> int:
    """Remove what nobody fetched in time."""
    count, _ = StoredFile.objects.filter(expires_at__lt=timezone.now()).delete()
    return count
