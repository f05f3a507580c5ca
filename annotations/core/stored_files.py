"""Stored files: uploads and exports, which expire, and trained models and original documents, which are kept."""

import hashlib
import io
import tempfile
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import IO

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from annotations.models import Project, StoredChunk, StoredFile, StoredFileKind, User
from annotations.text.names import printable

CHUNK = 1024 * 1024
IN_MEMORY = 16 * CHUNK
KEPT = {StoredFileKind.MODEL, StoredFileKind.ORIGINAL}


def store_file(*, project: Project, kind: str, name: str, content: IO[bytes], actor: User | None) -> StoredFile:
    """Store a file in the database, in one transaction, with its size and SHA-256. Files expire unless KEPT."""
    digest = hashlib.sha256()
    size = 0
    with transaction.atomic():
        stored = StoredFile(project=project, kind=kind, name=printable(name)[-255:], created_by=actor)
        kept_for = timedelta(hours=settings.STORED_FILE_HOURS)
        stored.expires_at = None if kind in KEPT else timezone.now() + kept_for
        stored.save()
        for number, data in enumerate(iter(lambda: content.read(CHUNK), b"")):
            StoredChunk.objects.create(file=stored, number=number, data=data)
            digest.update(data)
            size += len(data)
        stored.size, stored.sha256 = size, digest.hexdigest()
        stored.save(update_fields=["size", "sha256"])
    return stored


def read_chunks(stored: StoredFile) -> Iterator[bytes]:
    """Yield the content in order, with at most one chunk in memory."""
    numbers: Iterable[int] = stored.chunks.order_by("number").values_list("number", flat=True)
    for number in list(numbers):
        yield bytes(stored.chunks.values_list("data", flat=True).get(number=number))


def open_stored(stored: StoredFile) -> IO[bytes]:
    """Return a seekable copy: in memory while small, else in an unnamed temporary file."""
    # Not a SpooledTemporaryFile: it reads through Python code, thousands of times for a zip file.
    copy: IO[bytes] = io.BytesIO() if stored.size <= IN_MEMORY else tempfile.TemporaryFile()  # noqa: SIM115 - for the caller
    for data in read_chunks(stored):
        copy.write(data)
    copy.seek(0)
    return copy


def delete_expired() -> int:
    """Delete expired files, and return how many there were."""
    count, _ = StoredFile.objects.filter(expires_at__lt=timezone.now()).delete()
    return count
